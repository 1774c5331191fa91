-- Rows beside the watermark that was in force when they came, and only those that are not late.
SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'true';

CREATE TEMPORARY TABLE reading (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/reading.json', 'format' = 'json');
CREATE TEMPORARY TABLE instant (id INT, ts TIMESTAMP(3), `at` AS CAST(ts AS TIMESTAMP_LTZ(3)), WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/reading.json', 'format' = 'json');
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
CREATE TABLE lake.`default`.seen (what STRING, id INT, wm STRING) WITH ('bucket' = '-1');

INSERT INTO lake.`default`.seen SELECT 'watermark', id, CAST(CURRENT_WATERMARK(ts) AS STRING) FROM reading;
INSERT INTO lake.`default`.seen SELECT 'instant', id, CAST(CURRENT_WATERMARK(`at`) AS STRING) FROM instant WHERE id > 3;
INSERT INTO lake.`default`.seen SELECT 'late', id, CASE WHEN ts <= CURRENT_WATERMARK(ts) THEN 'late' ELSE 'in time' END FROM reading;
INSERT INTO lake.`default`.seen SELECT 'kept', id, CAST(NULL AS STRING) FROM reading WHERE CURRENT_WATERMARK(ts) IS NULL OR ts > CURRENT_WATERMARK(ts);
INSERT INTO lake.`default`.seen SELECT 'window', CAST(COUNT(*) AS INT), CAST(window_start AS STRING)
    FROM TABLE(TUMBLE((SELECT * FROM reading WHERE COALESCE(ts > CURRENT_WATERMARK(ts), TRUE)), DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;

SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'true';
CREATE TABLE click (id INT, usr STRING, page STRING, amount INT, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/click.json', 'format' = 'json');
CREATE TABLE l (lid INT, k INT, lv STRING, lt TIMESTAMP(3), WATERMARK FOR lt AS lt - INTERVAL '10' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/left.json', 'format' = 'json');
CREATE TABLE r (rid INT, k INT, rv INT, rt TIMESTAMP(3), WATERMARK FOR rt AS rt - INTERVAL '20' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/right.json', 'format' = 'json');
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS app;
USE app;
CREATE TEMPORARY VIEW click AS SELECT * FROM default_catalog.default_database.click;
CREATE TEMPORARY VIEW l AS SELECT * FROM default_catalog.default_database.l;
CREATE TEMPORARY VIEW r AS SELECT * FROM default_catalog.default_database.r;
CREATE TEMPORARY VIEW latest AS SELECT k, rv, rt FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt DESC) AS rn FROM r) WHERE rn = 1;
CREATE TABLE framed (id INT, n BIGINT, s DECIMAL(38, 2), f INT) WITH ('bucket' = '-1');
CREATE TABLE ranked (id INT, rk BIGINT, dense BIGINT, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE versions (lid INT, k INT, rv INT) WITH ('bucket' = '-1');
CREATE TABLE inner_versions (lid INT, rv INT) WITH ('bucket' = '-1');
EXECUTE STATEMENT SET BEGIN
-- A partition to which nothing came for one and a half frames is forgotten: a late row finds nothing, or is not late any more.
INSERT INTO framed SELECT id, COUNT(*) OVER w, SUM(price) OVER w, FIRST_VALUE(id) OVER w
    FROM click WINDOW w AS (PARTITION BY page ORDER BY ts RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW);
INSERT INTO ranked SELECT id, RANK() OVER w, DENSE_RANK() OVER w, COUNT(*) OVER w FROM click WINDOW w AS (ORDER BY ts);
-- Joins by event time find versions of NULL keys.
INSERT INTO versions SELECT l.lid, l.k, x.rv FROM l LEFT JOIN latest FOR SYSTEM_TIME AS OF l.lt AS x ON l.k = x.k;
INSERT INTO inner_versions SELECT l.lid, x.rv FROM l JOIN latest FOR SYSTEM_TIME AS OF l.lt AS x ON l.k = x.k AND l.lv = 'x';
END;

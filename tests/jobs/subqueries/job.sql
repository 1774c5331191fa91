-- Subqueries and LATERAL in a stream: what is answered when all has come.
SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'true';
SET 'table.exec.sink.upsert-materialize' = 'NONE';

CREATE TEMPORARY TABLE a (id INT, n INT, k STRING) WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json');
CREATE TEMPORARY TABLE b (id INT, n INT, k STRING) WITH ('connector' = 'filesystem', 'path' = '${DATA}/b.json', 'format' = 'json');
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
CREATE TABLE lake.`default`.answers (q INT, id INT, v STRING, PRIMARY KEY (q, id) NOT ENFORCED) WITH ('bucket' = '1');

INSERT INTO lake.`default`.answers SELECT 1, id, CAST(n > ANY (SELECT n FROM b) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 2, id, CAST(n > ANY (SELECT n FROM b WHERE n IS NOT NULL) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 3, id, CAST(n >= ALL (SELECT n FROM b WHERE n IS NOT NULL) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 4, id, CAST(n <= ALL (SELECT n FROM b) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 5, id, CAST(n <> ANY (SELECT n FROM b WHERE n < 6) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 6, id, CAST(n = ALL (SELECT n FROM b WHERE n = 20) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 7, id, CAST(n <> ALL (SELECT n FROM b WHERE n IS NOT NULL) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 8, id, k
    FROM a
    WHERE n > SOME (SELECT n FROM b WHERE b.k = a.k AND b.id < a.id);
INSERT INTO lake.`default`.answers SELECT 9, id, k
    FROM a
    WHERE n > ALL (SELECT n FROM b WHERE b.k = a.k);
INSERT INTO lake.`default`.answers SELECT 10, id, CAST((SELECT MAX(n) FROM b WHERE b.k = a.k AND b.n < a.n) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 11, id, CAST((SELECT COUNT(*) FROM b WHERE b.id < a.id) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 12, id, CAST(EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.n > a.n) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 13, id, CAST(a.n IN (SELECT b.n FROM b WHERE b.id > a.id) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 14, id, CAST(n NOT IN (SELECT n FROM b WHERE b.k <> a.k) AS STRING)
    FROM a;
INSERT INTO lake.`default`.answers SELECT 15, id, k
    FROM a
    WHERE n > (SELECT AVG(n) FROM b WHERE b.id + 1 > a.id);
INSERT INTO lake.`default`.answers SELECT 16, id, k
    FROM a
    WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.n <> a.n) OR id = 3;
INSERT INTO lake.`default`.answers SELECT 17, id, k
    FROM a
    WHERE (id, n) IN (SELECT id, n FROM b) OR id = 3;
INSERT INTO lake.`default`.answers SELECT 18, id, k
    FROM a
    WHERE EXISTS (SELECT k FROM b WHERE b.k = a.k GROUP BY k HAVING COUNT(*) > 1);
INSERT INTO lake.`default`.answers SELECT 19, MIN(id), k
    FROM a
    GROUP BY k HAVING SUM(n) > ALL (SELECT n FROM b WHERE n IS NOT NULL AND n < 22);
INSERT INTO lake.`default`.answers SELECT 20, a.id, CAST(t.s AS STRING) || '/' || CAST(t.c AS STRING)
    FROM a, LATERAL (SELECT SUM(n) AS s, COUNT(*) AS c FROM b WHERE b.k = a.k) AS t;
INSERT INTO lake.`default`.answers SELECT 21, a.id, CAST(t.c AS STRING)
    FROM a LEFT JOIN LATERAL (SELECT COUNT(*) AS c FROM b WHERE b.k = a.k AND b.n > a.n) AS t ON TRUE;
INSERT INTO lake.`default`.answers SELECT 22, a.id * 100 + t.id, CAST(t.n AS STRING)
    FROM a, LATERAL (SELECT id, n FROM b WHERE b.k = a.k) AS t;
INSERT INTO lake.`default`.answers SELECT 23, a.id * 1000 + ASCII(t.k), CAST(t.c AS STRING)
    FROM a, LATERAL (SELECT k, COUNT(*) AS c FROM b WHERE b.id > a.id GROUP BY k) AS t;
INSERT INTO lake.`default`.answers SELECT 24, a.id, CAST(t.n AS STRING)
    FROM a LEFT JOIN LATERAL (SELECT n FROM b WHERE b.k = a.k AND b.id > a.id) AS t ON t.n > 10;
INSERT INTO lake.`default`.answers SELECT 25, u.id, t.k || CAST(u.n AS STRING)
    FROM (SELECT DISTINCT k FROM b) t, LATERAL (SELECT id, n FROM b WHERE k = t.k ORDER BY n DESC, id LIMIT 2) u;

SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'true';
SET 'table.exec.sink.upsert-materialize' = 'NONE';
CREATE TABLE click (id INT, usr STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/clicks.json', 'format' = 'json');
CREATE TABLE l (lid INT, k INT, lv STRING, lt TIMESTAMP(3), WATERMARK FOR lt AS lt - INTERVAL '10' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/left.json', 'format' = 'json');
CREATE TABLE r (rid INT, k INT, rv INT, rt TIMESTAMP(3), WATERMARK FOR rt AS rt - INTERVAL '20' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/right.json', 'format' = 'json');
CREATE TABLE orders (id INT, cur STRING, amount DECIMAL(10, 2), ordered TIMESTAMP(3), WATERMARK FOR ordered AS ordered - INTERVAL '20' SECOND)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/orders.json', 'format' = 'json');
CREATE TABLE rate_log (cur STRING, rate DECIMAL(6, 2), since TIMESTAMP(3), WATERMARK FOR since AS since, PRIMARY KEY (cur) NOT ENFORCED)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/rate-log.json', 'format' = 'debezium-json');
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS app;
USE app;

CREATE TEMPORARY VIEW click AS SELECT * FROM default_catalog.default_database.click;
CREATE TEMPORARY VIEW l AS SELECT * FROM default_catalog.default_database.l;
CREATE TEMPORARY VIEW r AS SELECT * FROM default_catalog.default_database.r;
CREATE TEMPORARY VIEW orders AS SELECT * FROM default_catalog.default_database.orders;

CREATE TABLE k01 (ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k02 (ws TIMESTAMP(3), usr STRING, n BIGINT, m BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k03 (ws TIMESTAMP(3), usr STRING, g BIGINT, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k04 (ws TIMESTAMP(3), usr STRING, lo INT, hi INT, fv INT, lv INT) WITH ('bucket' = '-1');
CREATE TABLE k05 (ws TIMESTAMP(3), tot BIGINT, avgd DOUBLE) WITH ('bucket' = '-1');
CREATE TABLE k06 (ws TIMESTAMP(3), id INT, usr STRING) WITH ('bucket' = '-1');
CREATE TABLE k07 (ws TIMESTAMP(3), we TIMESTAMP(3), n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k08 (ws TIMESTAMP(3), we TIMESTAMP(3), usr STRING, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k09 (ws TIMESTAMP(3), usr STRING, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k10 (rt TIMESTAMP(3), n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k11 (ws TIMESTAMP(3), usr STRING, id INT, rn BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k12 (ws TIMESTAMP(3), usr STRING, id INT) WITH ('bucket' = '-1');
CREATE TABLE k13 (id INT, n BIGINT, s BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k14 (id INT, n BIGINT, s INT) WITH ('bucket' = '-1');
CREATE TABLE k15 (id INT, n BIGINT, s INT) WITH ('bucket' = '-1');
CREATE TABLE k16 (id INT, n BIGINT, s DOUBLE) WITH ('bucket' = '-1');
CREATE TABLE k17 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k18 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k19 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k20 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k21 (lid INT, ws TIMESTAMP(3)) WITH ('bucket' = '-1');
CREATE TABLE k22 (lid INT, ws TIMESTAMP(3)) WITH ('bucket' = '-1');
CREATE TABLE k23 (usr STRING, n BIGINT, firsts BIGINT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k24 (usr STRING, n BIGINT, s BIGINT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k25 (usr STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k26 (usr STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k27 (usr STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k28 (usr STRING, total BIGINT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k29 (usr STRING, names STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k30 (usr STRING, n BIGINT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k31 (ws TIMESTAMP(3), n BIGINT, mx BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k32 (id INT, usr STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k33 (lid INT, how STRING) WITH ('bucket' = '-1');
CREATE TABLE k34 (a INT, b INT, c BIGINT, PRIMARY KEY (a, b) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k35 (usr STRING, n BIGINT, big BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k36 (id INT, prv INT) WITH ('bucket' = '-1');
CREATE TABLE k37 (id INT, prv INT) WITH ('bucket' = '-1');
CREATE TABLE k38 (id INT, rn BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k39 (ws TIMESTAMP(3), usr STRING, id INT) WITH ('bucket' = '-1');
CREATE TABLE k40 (ws TIMESTAMP(3), usr STRING, id INT) WITH ('bucket' = '-1');
CREATE TABLE k41 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k42 (lid INT, rid INT) WITH ('bucket' = '-1');
CREATE TABLE k43 (lid INT, ws TIMESTAMP(3)) WITH ('bucket' = '-1');
CREATE TABLE k44 (ws TIMESTAMP(3), n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k45 (ws TIMESTAMP(3), cur STRING, tot DECIMAL(38,4)) WITH ('bucket' = '-1');
CREATE TABLE k46 (cur STRING, rate DECIMAL(6,2), n BIGINT, PRIMARY KEY (cur, rate) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k47 (cur STRING, hi DECIMAL(6,2), fv DECIMAL(6,2), lv DECIMAL(6,2), PRIMARY KEY (cur) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k48 (cur STRING, rate DECIMAL(6,2), rn BIGINT, PRIMARY KEY (rn) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k49 (cur STRING, rate DECIMAL(6,2), PRIMARY KEY (cur) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k50 (id INT, cur STRING, rate DECIMAL(6,2), PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k51 (id INT, cur STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k52 (id INT, cur STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k53 (usr STRING, mx INT, mn INT, sm BIGINT, sd DOUBLE, vp DOUBLE, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k54 (ws TIMESTAMP(3), sd DOUBLE, ls STRING) WITH ('bucket' = '-1');
CREATE TABLE k55 (usr STRING, n BIGINT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k56 (id INT, n BIGINT, t BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k57 (id INT, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k58 (usr STRING, id INT, amount INT, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k59 (ws TIMESTAMP(3), u1 BIGINT, u2 BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k60 (ws TIMESTAMP(3), usr STRING, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k61 (ws TIMESTAMP(3), dt STRING, n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k62 (ws TIMESTAMP(3), n BIGINT) WITH ('bucket' = '-1');
CREATE TABLE k63 (rt TIMESTAMP(3), usr STRING, id INT) WITH ('bucket' = '-1');
CREATE TABLE k64 (usr STRING, am INT, n BIGINT, PRIMARY KEY (usr, am) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k65 (usr STRING, m MULTISET<INT>, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k66 (usr STRING, m ARRAY<INT>, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k67 (usr STRING, m STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE k68 (usr STRING, m STRING, PRIMARY KEY (usr) NOT ENFORCED) WITH ('bucket' = '1');

INSERT INTO k01 SELECT window_start, window_end, COUNT(DISTINCT usr)
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
INSERT INTO k02 SELECT window_start, usr, COUNT(*) FILTER (WHERE amount > 30), COUNT(DISTINCT amount) FILTER (WHERE amount > 10)
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, usr;
INSERT INTO k03 SELECT window_start, usr, GROUPING(usr), COUNT(*)
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, ROLLUP (usr);
INSERT INTO k04 SELECT window_start, usr, MIN(amount), MAX(amount), FIRST_VALUE(id), LAST_VALUE(id)
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, usr HAVING COUNT(*) > 1;
INSERT INTO k05 SELECT window_start, SUM(amount), AVG(CAST(amount AS DOUBLE))
    FROM TABLE(HOP(TABLE click, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '1' MINUTE)) WHERE usr <> 'u1' GROUP BY window_start, window_end;
INSERT INTO k06 SELECT window_start, id, usr
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE));
INSERT INTO k07 SELECT window_start, window_end, COUNT(*)
    FROM TABLE(SESSION(TABLE click, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
INSERT INTO k08 SELECT SESSION_START(ts, INTERVAL '25' SECOND), SESSION_END(ts, INTERVAL '25' SECOND), usr, COUNT(*)
    FROM click GROUP BY SESSION(ts, INTERVAL '25' SECOND), usr;
INSERT INTO k09 SELECT HOP_START(ts, INTERVAL '30' SECOND, INTERVAL '1' MINUTE), usr, COUNT(*)
    FROM click GROUP BY HOP(ts, INTERVAL '30' SECOND, INTERVAL '1' MINUTE), usr;
INSERT INTO k10 SELECT TUMBLE_ROWTIME(ts, INTERVAL '1' MINUTE), COUNT(*)
    FROM click GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE);
INSERT INTO k11 SELECT window_start, usr, id, rn
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, usr ORDER BY amount DESC, id) AS rn FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE rn <= 2;
INSERT INTO k12 SELECT window_start, usr, id
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, usr ORDER BY ts DESC) AS rn FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE rn = 1;
INSERT INTO k13 SELECT id, COUNT(*) OVER w, SUM(amount) OVER w
    FROM click WINDOW w AS (PARTITION BY usr ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW);
INSERT INTO k14 SELECT id, COUNT(*) OVER w, MAX(amount) OVER w
    FROM click WINDOW w AS (PARTITION BY usr ORDER BY ts);
INSERT INTO k15 SELECT id, COUNT(*) OVER w, MIN(amount) OVER w
    FROM click WINDOW w AS (ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW);
INSERT INTO k16 SELECT id, COUNT(DISTINCT usr) OVER w, AVG(CAST(amount AS DOUBLE)) OVER w
    FROM click WINDOW w AS (ORDER BY ts RANGE BETWEEN INTERVAL '30' SECOND PRECEDING AND CURRENT ROW);
INSERT INTO k17 SELECT l.lid, r.rid
    FROM l, r WHERE l.k = r.k AND l.lt BETWEEN r.rt - INTERVAL '30' SECOND AND r.rt + INTERVAL '30' SECOND;
INSERT INTO k18 SELECT l.lid, r.rid
    FROM l LEFT JOIN r ON l.k = r.k AND r.rt >= l.lt AND r.rt < l.lt + INTERVAL '40' SECOND AND r.rv > 2;
INSERT INTO k19 SELECT l.lid, r.rid
    FROM l RIGHT JOIN r ON l.k = r.k AND r.rt > l.lt - INTERVAL '10' SECOND AND r.rt <= l.lt + INTERVAL '1' MINUTE;
INSERT INTO k20 SELECT a.lid, b.rid
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '90' SECOND))) AS a FULL OUTER JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '90' SECOND))) AS b ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end;
INSERT INTO k21 SELECT lid, window_start
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '2' MINUTE))) AS a WHERE a.k IN (SELECT k FROM (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '2' MINUTE))) AS b WHERE a.window_start = b.window_start AND a.window_end = b.window_end);
INSERT INTO k22 SELECT lid, window_start
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '2' MINUTE))) AS a WHERE NOT EXISTS (SELECT 1 FROM (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '2' MINUTE))) AS b WHERE a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end);
INSERT INTO k23 SELECT usr, COUNT(*), SUM(amount)
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr, amount ORDER BY ts) AS rn FROM click) WHERE rn = 1 GROUP BY usr;
INSERT INTO k24 SELECT usr, COUNT(*), SUM(id)
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY amount DESC, id) AS rn FROM click) WHERE rn <= 3 GROUP BY usr;
INSERT INTO k25 SELECT DISTINCT usr
    FROM click;
INSERT INTO k26 SELECT usr
    FROM click WHERE amount > 60 INTERSECT SELECT usr FROM click WHERE amount < 3;
INSERT INTO k27 SELECT usr
    FROM click EXCEPT SELECT usr FROM click WHERE amount = 1;
INSERT INTO k28 SELECT usr, SUM(amount) AS total
    FROM click GROUP BY usr ORDER BY total DESC LIMIT 2;
INSERT INTO k29 SELECT usr, LISTAGG(CAST(id AS STRING))
    FROM click WHERE id < 30 GROUP BY usr;
INSERT INTO k30 SELECT usr, COUNT(*)
    FROM click WHERE amount > (SELECT AVG(amount) FROM click) GROUP BY usr;
INSERT INTO k31 SELECT window_start, COUNT(*), MAX(n)
    FROM (SELECT window_start, window_end, usr, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, usr) GROUP BY window_start, window_end;
INSERT INTO k32 SELECT id, usr
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY PROCTIME()) AS rn FROM click) WHERE rn = 1;
INSERT INTO k33 SELECT lid, 'x'
    FROM l WHERE (k, lv) IN (SELECT k, 'q' FROM r);
INSERT INTO k34 SELECT x.k, y.k, COUNT(*)
    FROM l x JOIN l y ON x.k = y.k AND x.lid < y.lid JOIN r ON r.k = x.k GROUP BY x.k, y.k;
INSERT INTO k35 SELECT usr, n, COUNT(*) OVER (PARTITION BY usr ORDER BY rt RANGE BETWEEN INTERVAL '3' MINUTE PRECEDING AND CURRENT ROW)
    FROM (SELECT usr, window_time AS rt, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, window_time, usr);
INSERT INTO k36 SELECT id, LAG(amount) OVER (PARTITION BY usr ORDER BY ts)
    FROM click;
INSERT INTO k37 SELECT id, LAG(amount, 2, -1) OVER (PARTITION BY usr ORDER BY ts)
    FROM click;
INSERT INTO k38 SELECT id, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY ts)
    FROM click;
INSERT INTO k39 SELECT window_start, usr, id
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, usr ORDER BY ts DESC) AS rn FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE))) WHERE rn = 1;
INSERT INTO k40 SELECT window_start, usr, id
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, usr ORDER BY amount DESC, id) AS rn FROM TABLE(SESSION(TABLE click PARTITION BY usr, DESCRIPTOR(ts), INTERVAL '15' SECOND))) WHERE rn = 1;
INSERT INTO k41 SELECT a.lid, b.rid
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '2' MINUTE))) AS a  JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '2' MINUTE))) AS b ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end AND b.rv < 6;
INSERT INTO k42 SELECT a.lid, b.rid
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '2' MINUTE))) AS a RIGHT JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '2' MINUTE))) AS b ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end AND b.rv > a.lid;
INSERT INTO k43 SELECT lid, window_start
    FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(lt), INTERVAL '2' MINUTE))) AS a WHERE EXISTS (SELECT 1 FROM (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(rt), INTERVAL '2' MINUTE))) AS b WHERE a.k = b.k AND b.rv > 3 AND a.window_start = b.window_start AND a.window_end = b.window_end);
INSERT INTO k44 SELECT window_start, COUNT(*)
    FROM TABLE(TUMBLE((SELECT l.lid, l.lt FROM l JOIN r ON l.k = r.k AND r.rt BETWEEN l.lt - INTERVAL '30' SECOND AND l.lt + INTERVAL '1' MINUTE), DESCRIPTOR(lt), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
INSERT INTO k45 SELECT window_start, cur, SUM(t)
    FROM TABLE(TUMBLE((SELECT o.ordered, o.cur, o.amount * v.rate AS t FROM orders AS o JOIN default_catalog.default_database.rate_log FOR SYSTEM_TIME AS OF o.ordered AS v ON o.cur = v.cur), DESCRIPTOR(ordered), INTERVAL '30' SECOND)) GROUP BY window_start, window_end, cur;
INSERT INTO k46 SELECT cur, rate, COUNT(*)
    FROM default_catalog.default_database.rate_log GROUP BY cur, rate;
INSERT INTO k47 SELECT cur, MAX(rate), FIRST_VALUE(rate), LAST_VALUE(rate)
    FROM default_catalog.default_database.rate_log GROUP BY cur;
INSERT INTO k48 SELECT cur, rate, rn
    FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY rate DESC, cur) AS rn FROM default_catalog.default_database.rate_log) WHERE rn <= 2;
INSERT INTO k49 SELECT cur, rate
    FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY rate, cur) AS rn FROM default_catalog.default_database.rate_log) WHERE rn = 1;
INSERT INTO k50 SELECT o.id, o.cur, v.rate
    FROM orders o LEFT JOIN default_catalog.default_database.rate_log v ON o.cur = v.cur;
INSERT INTO k51 SELECT o.id, o.cur
    FROM orders o WHERE EXISTS (SELECT 1 FROM default_catalog.default_database.rate_log v WHERE v.cur = o.cur AND v.rate > 1.6);
INSERT INTO k52 SELECT o.id, o.cur
    FROM orders o WHERE o.cur NOT IN (SELECT cur FROM default_catalog.default_database.rate_log WHERE rate < 1.6);
INSERT INTO k53 SELECT usr, MAX(amount), MIN(amount), SUM(DISTINCT amount), ROUND(STDDEV_SAMP(CAST(amount AS DOUBLE)), 4), ROUND(VAR_POP(CAST(amount AS DOUBLE)), 4)
    FROM click GROUP BY usr;
INSERT INTO k54 SELECT window_start, ROUND(STDDEV_POP(CAST(amount AS DOUBLE)), 4), LISTAGG(usr, '|')
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
INSERT INTO k55 SELECT usr, COUNT(*)
    FROM (SELECT usr, amount FROM click UNION SELECT lv, k FROM l) GROUP BY usr;
INSERT INTO k56 SELECT id, COUNT(*) OVER (PARTITION BY usr ORDER BY pt ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), SUM(amount) OVER (PARTITION BY usr ORDER BY pt ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)
    FROM (SELECT *, PROCTIME() AS pt FROM click);
INSERT INTO k57 SELECT id, COUNT(*) OVER (PARTITION BY usr ORDER BY PROCTIME())
    FROM click;
INSERT INTO k58 SELECT usr, id, amount
    FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY usr ORDER BY PROCTIME() DESC) AS rn FROM click) WHERE rn = 1;
INSERT INTO k59 SELECT a.window_start, a.n, b.n
    FROM (SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE usr = 'u1' GROUP BY window_start, window_end) a JOIN (SELECT window_start, window_end, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE usr = 'u2' GROUP BY window_start, window_end) b ON a.window_start = b.window_start AND a.window_end = b.window_end;
INSERT INTO k60 SELECT window_start, usr, n
    FROM (SELECT window_start, window_end, usr, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, usr) WHERE n >= 4;
INSERT INTO k61 SELECT window_start, DATE_FORMAT(ts, 'HH:mm'), COUNT(*)
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, DATE_FORMAT(ts, 'HH:mm');
INSERT INTO k62 WITH big AS (SELECT *
    FROM click WHERE amount > 20) SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE big, DESCRIPTOR(ts), INTERVAL '2' MINUTE)) GROUP BY window_start, window_end;
INSERT INTO k63 SELECT window_time, usr, id
    FROM TABLE(TUMBLE(TABLE click, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) WHERE amount > 50;
INSERT INTO k64 SELECT usr, amount, COUNT(*)
    FROM click WHERE amount < 10 GROUP BY CUBE (usr, amount) HAVING GROUPING(usr) = 0 AND GROUPING(amount) = 0;
INSERT INTO k65 SELECT usr, COLLECT(amount)
    FROM click WHERE id < 12 GROUP BY usr;
INSERT INTO k66 SELECT usr, ARRAY_AGG(amount)
    FROM click WHERE id < 12 GROUP BY usr;
INSERT INTO k67 SELECT usr, JSON_ARRAYAGG(amount)
    FROM click WHERE id < 12 GROUP BY usr;
INSERT INTO k68 SELECT usr, JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE amount)
    FROM click WHERE id < 12 GROUP BY usr;

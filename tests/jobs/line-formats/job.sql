SET 'execution.runtime-mode' = 'streaming';
SET 'table.dml-sync' = 'true';
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS app;
USE app;
CREATE TABLE seen (source STRING, a STRING, b STRING, c STRING, d STRING) WITH ('bucket' = '-1');
CREATE TEMPORARY TABLE json_00 (id INT, v STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_01 (id INT, v INT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_02 (id INT, v BIGINT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_03 (id INT, v TINYINT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_04 (id INT, v DOUBLE)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_05 (id INT, v FLOAT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_06 (id INT, v DECIMAL(10, 2))
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_07 (id INT, v BOOLEAN)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_08 (id INT, v DATE)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_09 (id INT, v TIME)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_10 (id INT, v TIMESTAMP(9))
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_11 (id INT, v TIMESTAMP_LTZ(3))
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_12 (id INT, v BYTES)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_13 (id INT, v ARRAY<STRING>)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_14 (id INT, v MAP<STRING, STRING>)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_15 (id INT, v ROW<a INT, b STRING>)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE json_16 (id INT, v ARRAY<ROW<a STRING, b INT>>)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/a.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE two (id INT, v STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/two.json', 'format' = 'json');
CREATE TEMPORARY TABLE blank (id INT, v STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/ws.json', 'format' = 'json', 'json.nosuch' = 'taken and left alone');
CREATE TEMPORARY TABLE odd (id INT, v STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/odd.json', 'format' = 'json', 'json.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE raw_lines (line STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/raw.txt', 'format' = 'raw');
CREATE TEMPORARY TABLE empty_line (id INT, s STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/e.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE one_column (s STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/one.csv', 'format' = 'csv');
CREATE TEMPORARY TABLE flags (id INT, b BOOLEAN)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/b.csv', 'format' = 'csv');
CREATE TEMPORARY TABLE no_flag (id INT, b BOOLEAN)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/b2.csv', 'format' = 'csv');
CREATE TEMPORARY TABLE null_literal (id INT, b INT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/b2.csv', 'format' = 'csv', 'csv.null-literal' = '');
CREATE TEMPORARY TABLE numbers (id INT, x DECIMAL(8, 2), d DOUBLE, g DOUBLE)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/num.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE small (a TINYINT, b SMALLINT, c INT, d BIGINT)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/of.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE times (id INT, ts TIMESTAMP(3), dt DATE, tm TIME(3), lz TIMESTAMP_LTZ(3), y BYTES)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/tm.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE times_2 (id INT, ts STRING, dt STRING, tm TIME(0), lz TIMESTAMP_LTZ(3), y BYTES)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/tm.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE quotes (id INT, a STRING, b STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/q.csv', 'format' = 'csv', 'csv.null-literal' = 'null');
CREATE TEMPORARY TABLE no_quotes (id INT, a STRING, b STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/q.csv', 'format' = 'csv', 'csv.disable-quote-character' = 'true', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE escapes (id INT, a STRING, b STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/esc.csv', 'format' = 'csv', 'csv.escape-character' = '\');
CREATE TEMPORARY TABLE mark (id STRING, a STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/bom.csv', 'format' = 'csv');
CREATE TEMPORARY TABLE nested (id INT, s STRING, l ARRAY<STRING>, r ROW<x INT, y STRING>)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/nest.csv', 'format' = 'csv', 'csv.field-delimiter' = '|', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE lengths (id INT, a STRING, b STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/len.csv', 'format' = 'csv', 'csv.ignore-parse-errors' = 'true');
CREATE TEMPORARY TABLE comments (id INT, a STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/com.csv', 'format' = 'csv', 'csv.allow-comments' = 'true');
EXECUTE STATEMENT SET BEGIN
INSERT INTO seen SELECT 'json_00', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_00;
INSERT INTO seen SELECT 'json_01', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_01;
INSERT INTO seen SELECT 'json_02', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_02;
INSERT INTO seen SELECT 'json_03', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_03;
INSERT INTO seen SELECT 'json_04', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_04;
INSERT INTO seen SELECT 'json_05', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_05;
INSERT INTO seen SELECT 'json_06', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_06;
INSERT INTO seen SELECT 'json_07', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_07;
INSERT INTO seen SELECT 'json_08', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_08;
INSERT INTO seen SELECT 'json_09', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_09;
INSERT INTO seen SELECT 'json_10', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_10;
INSERT INTO seen SELECT 'json_11', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_11;
INSERT INTO seen SELECT 'json_12', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_12 WHERE id NOT IN (1, 9, 31);
INSERT INTO seen SELECT 'json_13', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_13;
INSERT INTO seen SELECT 'json_14', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_14;
INSERT INTO seen SELECT 'json_15', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_15;
INSERT INTO seen SELECT 'json_16', CAST(id AS STRING), CAST(v AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM json_16;
INSERT INTO seen SELECT 'two', CAST(id AS STRING), v, CAST(NULL AS STRING), CAST(NULL AS STRING) FROM two;
INSERT INTO seen SELECT 'blank', CAST(id AS STRING), v, CAST(NULL AS STRING), CAST(NULL AS STRING) FROM blank;
INSERT INTO seen SELECT 'odd', CAST(id AS STRING), v, CAST(NULL AS STRING), CAST(NULL AS STRING) FROM odd;
INSERT INTO seen SELECT 'raw_lines', line, CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM raw_lines;
INSERT INTO seen SELECT 'empty_line', CAST(id AS STRING), CAST(s AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM empty_line;
INSERT INTO seen SELECT 'one_column', CAST(s AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM one_column;
INSERT INTO seen SELECT 'flags', CAST(id AS STRING), CAST(b AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM flags;
INSERT INTO seen SELECT 'no_flag', CAST(id AS STRING), CAST(b AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM no_flag;
INSERT INTO seen SELECT 'null_literal', CAST(id AS STRING), CAST(b AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM null_literal;
INSERT INTO seen SELECT 'numbers', CAST(id AS STRING), CAST(x AS STRING), CAST(d AS STRING), CAST(g AS STRING) FROM numbers;
INSERT INTO seen SELECT 'small', CAST(a AS STRING), CAST(b AS STRING), CAST(c AS STRING), CAST(d AS STRING) FROM small;
INSERT INTO seen SELECT 'times', CAST(id AS STRING), CAST(ts AS STRING), CAST(dt AS STRING), CAST(NULL AS STRING) FROM times;
INSERT INTO seen SELECT 'times_2', CAST(id AS STRING), CAST(tm AS STRING), CAST(NULL AS STRING), CAST(y AS STRING) FROM times_2;
INSERT INTO seen SELECT 'quotes', CAST(id AS STRING), CAST(a AS STRING), CAST(b AS STRING), CAST(NULL AS STRING) FROM quotes;
INSERT INTO seen SELECT 'no_quotes', CAST(id AS STRING), CAST(a AS STRING), CAST(b AS STRING), CAST(NULL AS STRING) FROM no_quotes;
INSERT INTO seen SELECT 'escapes', CAST(id AS STRING), CAST(a AS STRING), CAST(b AS STRING), CAST(NULL AS STRING) FROM escapes;
INSERT INTO seen SELECT 'mark', CAST(id AS STRING), CAST(a AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM mark;
INSERT INTO seen SELECT 'nested', CAST(id AS STRING), CAST(s AS STRING), CAST(l AS STRING), CAST(r AS STRING) FROM nested;
INSERT INTO seen SELECT 'lengths', CAST(id AS STRING), CAST(a AS STRING), CAST(b AS STRING), CAST(NULL AS STRING) FROM lengths;
INSERT INTO seen SELECT 'comments', CAST(id AS STRING), CAST(a AS STRING), CAST(NULL AS STRING), CAST(NULL AS STRING) FROM comments;
END;

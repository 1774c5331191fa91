-- Three event streams of an airport become a fresh wide table, its exact changelog, an enriched stream and a report.
-- Flink's SQL: the same script runs on a Flink cluster with the Paimon connector.
--
--   tidelake run --var WAREHOUSE=/tmp/lake --var EVENTS=/tmp/events --var DATA=examples/flights/data job.sql
SET 'pipeline.name' = 'flights';
SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.interval' = '1 s';
SET 'table.dml-sync' = 'false';
SET 'table.exec.sink.upsert-materialize' = 'NONE';

CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS air;
USE air;

-- Sources: folders that are followed as files arrive; CSV files (their header line is no row: it does not parse, or is left out below).
CREATE TEMPORARY TABLE scheduled (
    flight_id BIGINT, fl_date DATE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, distance INT,
    sched_dep TIMESTAMP(3), sched_arr TIMESTAMP(3), state STRING, plan_rev INT, plan_ts TIMESTAMP(3)
) WITH ('connector' = 'filesystem', 'path' = '${EVENTS}/scheduled', 'format' = 'debezium-json', 'source.monitor-interval' = '200 ms');
CREATE TEMPORARY TABLE departed (flight_id BIGINT, dep_delay INT, dep_time TIMESTAMP(3), dep_ts TIMESTAMP(3))
    WITH ('connector' = 'filesystem', 'path' = '${EVENTS}/departed', 'format' = 'json', 'source.monitor-interval' = '200 ms');
CREATE TEMPORARY TABLE arrived (flight_id BIGINT, arr_delay INT, air_time INT, arr_ts TIMESTAMP(3))
    WITH ('connector' = 'filesystem', 'path' = '${EVENTS}/arrived', 'format' = 'json', 'source.monitor-interval' = '200 ms');
CREATE TEMPORARY TABLE airlines_csv (carrier STRING, name STRING)
    WITH ('connector' = 'filesystem', 'path' = '${DATA}/airlines.csv.gz', 'format' = 'csv', 'csv.null-literal' = 'NA');
CREATE TEMPORARY TABLE planes_csv (
    tailnum STRING, `year` INT, `type` STRING, manufacturer STRING, `model` STRING, engines INT, seats INT, speed INT, engine STRING
) WITH ('connector' = 'filesystem', 'path' = '${DATA}/planes.csv.gz', 'format' = 'csv', 'csv.null-literal' = 'NA', 'csv.ignore-parse-errors' = 'true');

-- One row a flight. Each stream owns the columns of its sequence group, whatever order its events come in.
CREATE TABLE IF NOT EXISTS flights (
    flight_id BIGINT,
    fl_date DATE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, distance INT,
    sched_dep TIMESTAMP(3), sched_arr TIMESTAMP(3), state STRING, plan_rev INT, plan_ts TIMESTAMP(3),
    dep_delay INT, dep_time TIMESTAMP(3), dep_ts TIMESTAMP(3),
    arr_delay INT, air_time INT, arr_ts TIMESTAMP(3),
    PRIMARY KEY (flight_id) NOT ENFORCED
) WITH (
    'bucket' = '2',
    'merge-engine' = 'partial-update',
    'changelog-producer' = 'lookup',
    'ignore-update-before' = 'true',
    'fields.plan_rev,plan_ts.sequence-group' = 'fl_date,carrier,flight,tailnum,origin,dest,distance,sched_dep,sched_arr,state',
    'fields.dep_ts.sequence-group' = 'dep_delay,dep_time',
    'fields.arr_ts.sequence-group' = 'arr_delay,air_time',
    'partial-update.remove-record-on-sequence-group' = 'plan_rev,plan_ts'
);
CREATE TABLE IF NOT EXISTS airlines (carrier STRING, name STRING, PRIMARY KEY (carrier) NOT ENFORCED) WITH ('bucket' = '1');
CREATE TABLE IF NOT EXISTS planes (
    tailnum STRING, built INT, manufacturer STRING, `model` STRING, seats INT, PRIMARY KEY (tailnum) NOT ENFORCED
) WITH ('bucket' = '1');
CREATE TABLE IF NOT EXISTS flights_enriched (
    flight_id BIGINT, fl_date DATE, carrier STRING, airline STRING, flight INT, origin STRING, dest STRING,
    tailnum STRING, manufacturer STRING, `model` STRING, seats INT, built INT, state STRING, dep_delay INT, arr_delay INT,
    PRIMARY KEY (flight_id) NOT ENFORCED
) WITH ('bucket' = '2', 'changelog-producer' = 'input');
-- Sums take back what a changed or deleted flight had added. A maximum cannot be taken back from one value alone: it is kept by
-- a GROUP BY that remembers the values, and stored as it is.
CREATE TABLE IF NOT EXISTS report (
    carrier STRING, fl_date DATE, flights BIGINT, cancelled BIGINT, `delayed` BIGINT, sum_delay BIGINT, max_delay INT,
    PRIMARY KEY (carrier, fl_date) NOT ENFORCED
) WITH (
    'bucket' = '1',
    'merge-engine' = 'aggregation',
    'changelog-producer' = 'lookup',
    'fields.flights.aggregate-function' = 'sum',
    'fields.cancelled.aggregate-function' = 'sum',
    'fields.delayed.aggregate-function' = 'sum',
    'fields.sum_delay.aggregate-function' = 'sum',
    'fields.max_delay.aggregate-function' = 'last_non_null_value'
);

-- Dimensions first: the look-ups below need them.
SET 'table.dml-sync' = 'true';
INSERT INTO airlines SELECT * FROM airlines_csv WHERE carrier <> 'carrier';
INSERT INTO planes SELECT tailnum, `year`, manufacturer, `model`, seats FROM planes_csv;
SET 'table.dml-sync' = 'false';

-- Three INSERTs, each with its own columns, are one writer.
EXECUTE STATEMENT SET BEGIN
INSERT INTO flights (flight_id, fl_date, carrier, flight, tailnum, origin, dest, distance, sched_dep, sched_arr, state, plan_rev, plan_ts)
    SELECT flight_id, fl_date, carrier, flight, tailnum, origin, dest, distance, sched_dep, sched_arr, state, plan_rev, plan_ts FROM scheduled;
INSERT INTO flights (flight_id, dep_delay, dep_time, dep_ts) SELECT flight_id, dep_delay, dep_time, dep_ts FROM departed;
INSERT INTO flights (flight_id, arr_delay, air_time, arr_ts) SELECT flight_id, arr_delay, air_time, arr_ts FROM arrived;
END;

-- A flight that has departed before its plan came has no carrier yet: the report counts it when the plan is there.
CREATE TEMPORARY VIEW planned_flights AS
    SELECT flight_id, carrier, fl_date, state, arr_delay FROM flights WHERE carrier IS NOT NULL;
CREATE TEMPORARY VIEW flights_now AS SELECT *, PROCTIME() AS pt FROM flights WHERE carrier IS NOT NULL;

INSERT INTO flights_enriched
SELECT f.flight_id, f.fl_date, f.carrier, a.name, f.flight, f.origin, f.dest,
       f.tailnum, p.manufacturer, p.`model`, p.seats, p.built, f.state, f.dep_delay, f.arr_delay
FROM flights_now AS f
LEFT JOIN airlines FOR SYSTEM_TIME AS OF f.pt AS a ON f.carrier = a.carrier
LEFT JOIN planes FOR SYSTEM_TIME AS OF f.pt AS p ON f.tailnum = p.tailnum;

EXECUTE STATEMENT SET BEGIN
INSERT INTO report (carrier, fl_date, flights, cancelled, `delayed`, sum_delay)
    SELECT carrier, fl_date, 1, CASE WHEN state = 'cancelled' THEN 1 ELSE 0 END,
           CASE WHEN arr_delay > 15 THEN 1 ELSE 0 END, CAST(arr_delay AS BIGINT)
    FROM planned_flights;
INSERT INTO report (carrier, fl_date, max_delay)
    SELECT carrier, fl_date, MAX(arr_delay) FROM planned_flights GROUP BY carrier, fl_date;
END;

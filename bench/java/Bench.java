import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.*;
import org.apache.paimon.data.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fs.Path;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.*;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.query.LocalTableQuery;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.*;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Stream;

/**
 * The reference, Apache Paimon (Java), as a peer of the benchmark: without an engine around it, through the table API that
 * Flink's and Spark's tasks call. Takes the words of tidelake_bench.c and prints the same JSON lines.
 */
public class Bench {
    static final Map<String, String> A = new HashMap<>();

    static String arg(String k, String d) { return A.getOrDefault(k, d); }

    static int argi(String k, int d) { return Integer.parseInt(arg(k, "" + d)); }

    public static void main(String[] argv) throws Exception {
        for (int i = 1; i < argv.length; i++) {
            int e = argv[i].indexOf('=');
            A.put(argv[i].substring(0, e), argv[i].substring(e + 1));
        }
        try {
            dispatch(argv[0]);
        } catch (Throwable e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        System.out.flush();
        System.exit(0);
    }

    static void dispatch(String cmd) throws Exception {
        switch (cmd) {
            case "decode": decode(); break;
            case "upsert": upsert(); break;
            case "compact": compact(); break;
            case "scan": scan(); break;
            case "lookup": lookup(); break;
            case "changelog": changelog(); break;
            case "small": small(); break;
            case "first": first(); break;
            default: throw new IllegalArgumentException(cmd);
        }
    }

    // ---- measuring -----------------------------------------------------------------------------------------------

    static final class Clock {
        long t = System.nanoTime();
        double[] c = cpu();
        long w = io("wchar"), r = io("rchar");

        String done(String w, String variant, int rep, String more) throws IOException {
            double[] d = cpu();
            return String.format(Locale.ROOT,
                    "{\"peer\":\"paimon-java\",\"w\":\"%s\",\"variant\":\"%s\",\"rep\":%d,\"wall\":%.3f,\"user\":%.2f,"
                            + "\"sys\":%.2f,\"rss_mb\":%d,\"wchar\":%d,\"read_bytes\":%d%s}",
                    w, variant, rep, (System.nanoTime() - t) / 1e9, d[0] - c[0], d[1] - c[1], hwm() / 1024,
                    io("wchar") - this.w, io("rchar") - this.r, more);
        }
    }

    static double[] cpu() {
        try {
            String s = new String(Files.readAllBytes(Paths.get("/proc/self/stat")));
            String[] f = s.substring(s.lastIndexOf(')') + 2).split(" ");
            return new double[] {Long.parseLong(f[11]) / 100.0, Long.parseLong(f[12]) / 100.0};
        } catch (IOException e) { return new double[] {0, 0}; }
    }

    static long io(String k) {
        try {
            for (String l : Files.readAllLines(Paths.get("/proc/self/io")))
                if (l.startsWith(k + ":")) return Long.parseLong(l.substring(k.length() + 2));
        } catch (IOException e) { /* not readable: 0 */ }
        return 0;
    }

    static long hwm() throws IOException {
        for (String l : Files.readAllLines(Paths.get("/proc/self/status")))
            if (l.startsWith("VmHWM")) return Long.parseLong(l.replaceAll("\\D", ""));
        return 0;
    }

    /** A compaction that no commit waited for may still remove files of its own: then all is counted again. */
    static String files(String dir) throws IOException {
        for (int again = 0; ; again++) {
            try {
                return count(dir);
            } catch (UncheckedIOException e) {
                if (again == 100) throw e;
            }
        }
    }

    static String count(String dir) throws IOException {
        long[] n = new long[5];
        try (Stream<java.nio.file.Path> s = Files.walk(Paths.get(dir))) {
            s.filter(Files::isRegularFile).forEach(p -> {
                try { n[0]++; n[1] += Files.size(p); } catch (IOException e) { throw new UncheckedIOException(e); }
                String f = p.getFileName().toString();
                if (f.startsWith("data-")) n[2]++; else if (f.startsWith("changelog-")) n[3]++; else n[4]++;
            });
        }
        return String.format(",\"files\":%d,\"bytes\":%d,\"data_files\":%d,\"changelog_files\":%d,\"meta_files\":%d",
                n[0], n[1], n[2], n[3], n[4]);
    }

    static String quant(long[] ns) {
        Arrays.sort(ns);
        return String.format(Locale.ROOT, ",\"p50_us\":%.2f,\"p99_us\":%.2f,\"max_us\":%.1f",
                ns[ns.length / 2] / 1e3, ns[(int) (ns.length * 0.99)] / 1e3, ns[ns.length - 1] / 1e3);
    }

    // ---- tables and input ----------------------------------------------------------------------------------------

    static Catalog catalog() {
        Options o = new Options();
        o.set("warehouse", arg("wh", "."));
        return CatalogFactory.createCatalog(CatalogContext.create(o));
    }

    static Map<String, String> opts(String s) {
        Map<String, String> m = new LinkedHashMap<>();
        for (String p : s.split(";")) if (p.contains("=")) m.put(p.substring(0, p.indexOf('=')), p.substring(p.indexOf('=') + 1));
        return m;
    }

    static Schema ordersSchema(boolean pk, Map<String, String> options) {
        Schema.Builder b = Schema.newBuilder().column("order_id", DataTypes.BIGINT().notNull()).column("city", DataTypes.INT())
                .column("status", DataTypes.STRING()).column("broker", DataTypes.STRING())
                .column("amount", DataTypes.DECIMAL(12, 2)).column("updated_at", DataTypes.TIMESTAMP(3))
                .column("note", DataTypes.STRING());
        for (int i = 0; i < 8; i++) b.column("label" + i, DataTypes.INT());
        if (pk) b.primaryKey("order_id");
        return b.options(options).build();
    }

    static Schema wideSchema(Map<String, String> options) {
        Schema.Builder b = Schema.newBuilder().column("k", DataTypes.BIGINT().notNull());
        for (String g : new String[] {"a", "b"}) {
            b.column("seq_" + g, DataTypes.BIGINT());
            int nd = g.equals("a") ? 3 : 2;
            List<String> names = new ArrayList<>();
            for (int i = 0; i < 6; i++) { b.column(g + "i" + i, DataTypes.INT()); names.add(g + "i" + i); }
            for (int i = 0; i < 3; i++) { b.column(g + "l" + i, DataTypes.BIGINT()); names.add(g + "l" + i); }
            for (int i = 0; i < nd; i++) { b.column(g + "d" + i, DataTypes.DOUBLE()); names.add(g + "d" + i); }
            for (int i = 0; i < 2; i++) { b.column(g + "s" + i, DataTypes.STRING()); names.add(g + "s" + i); }
            options.put("fields.seq_" + g + ".sequence-group", String.join(",", names));
        }
        options.put("merge-engine", "partial-update");
        return b.primaryKey("k").options(options).build();
    }

    static FileStoreTable create(Catalog c, String name, Schema s) throws Exception {
        c.createDatabase("b", true);
        c.dropTable(Identifier.create("b", name), true);
        c.createTable(Identifier.create("b", name), s, false);
        return (FileStoreTable) c.getTable(Identifier.create("b", name));
    }

    static FileStoreTable open(Catalog c, String name) throws Exception {
        return (FileStoreTable) c.getTable(Identifier.create("b", name));
    }

    static String dir(String table) { return arg("wh", ".") + "/b.db/" + table; }

    static void copy(String from, String to) throws IOException {
        delete(new File(to));
        try (Stream<java.nio.file.Path> s = Files.walk(Paths.get(from))) {
            for (java.nio.file.Path p : (Iterable<java.nio.file.Path>) s::iterator)
                Files.copy(p, Paths.get(to).resolve(Paths.get(from).relativize(p)), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    static void delete(File f) {
        File[] l = f.listFiles();
        if (l != null) for (File x : l) delete(x);
        f.delete();
    }

    static final BinaryString[] STATUS = new BinaryString[8], BROKER = new BinaryString[10000];

    static {
        String[] s = {"CREATED", "PAID", "ASSIGNED", "PICKED_UP", "DELIVERED", "COMPLETED", "CANCELLED", "REFUNDED"};
        for (int i = 0; i < 8; i++) STATUS[i] = BinaryString.fromString(s[i]);
        for (int i = 0; i < 10000; i++) BROKER[i] = BinaryString.fromString(String.format("broker_%05d", i));
    }

    /** One decoder for each writing thread: it reuses its row, as a source operator with object reuse does. */
    interface Source {
        long rows();
        GenericRow key(long r);
        GenericRow row(long r);
    }

    static ByteBuffer map(String f) throws IOException {
        try (RandomAccessFile r = new RandomAccessFile(f, "r")) {
            return r.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, r.length()).order(ByteOrder.LITTLE_ENDIAN);
        }
    }

    static Source orders(ByteBuffer m) {
        final ByteBuffer b = m.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        final GenericRow row = new GenericRow(15), key = new GenericRow(15);
        return new Source() {
            public long rows() { return b.capacity() / 120; }
            public GenericRow key(long r) { key.setField(0, b.getLong((int) (r * 120))); return key; }
            public GenericRow row(long r) {
                int p = (int) (r * 120);
                row.setField(0, b.getLong(p));
                row.setField(4, Decimal.fromUnscaledLong(b.getLong(p + 8), 12, 2));
                row.setField(5, Timestamp.fromEpochMillis(b.getLong(p + 16)));
                row.setField(1, b.getInt(p + 24));
                int nulls = b.get(p + 63);
                for (int i = 0; i < 8; i++) row.setField(7 + i, (nulls >> i & 1) != 0 ? null : (Object) b.getInt(p + 28 + 4 * i));
                row.setField(3, BROKER[b.getShort(p + 60)]);
                row.setField(2, STATUS[b.get(p + 62)]);
                byte[] note = new byte[b.get(p + 64)];
                b.position(p + 72);
                b.get(note);
                row.setField(6, BinaryString.fromBytes(note));
                return row;
            }
        };
    }

    static Source wide(ByteBuffer m) {
        final ByteBuffer b = m.duplicate().order(ByteOrder.LITTLE_ENDIAN);
        final GenericRow key = new GenericRow(30);
        final GenericRow[] two = {new GenericRow(30), new GenericRow(30)};
        return new Source() {
            public long rows() { return b.capacity() / 144; }
            public GenericRow key(long r) { key.setField(0, b.getLong((int) (r * 144))); return key; }
            public GenericRow row(long r) {
                int p = (int) (r * 144), s = b.get(p + 88), nd = s == 0 ? 3 : 2, f = s == 0 ? 1 : 15;
                // a: seq_a + 6 + 3 + 3 + 2 = fields 1..15; b: seq_b + 6 + 3 + 2 + 2 = fields 16..29
                f = s == 0 ? 1 : 16;
                GenericRow row = two[s];
                row.setField(0, b.getLong(p));
                row.setField(f++, b.getLong(p + 8));
                for (int i = 0; i < 6; i++) row.setField(f++, b.getInt(p + 16 + 4 * i));
                for (int i = 0; i < 3; i++) row.setField(f++, b.getLong(p + 40 + 8 * i));
                for (int i = 0; i < nd; i++) row.setField(f++, b.getDouble(p + 64 + 8 * i));
                for (int i = 0; i < 2; i++) {
                    byte[] x = new byte[b.get(p + 89 + i)];
                    b.position(p + 96 + 24 * i);
                    b.get(x);
                    row.setField(f++, BinaryString.fromBytes(x));
                }
                return row;
            }
        };
    }

    static Source source(ByteBuffer m) { return arg("kind", "orders").equals("wide") ? wide(m) : orders(m); }

    /** What reading and decoding the input costs by itself. */
    static void decode() throws Exception {
        ByteBuffer m = map(arg("data", ""));
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            Source s = source(m);
            Clock c = new Clock();
            long sum = 0;
            for (long r = 0; r < s.rows(); r++) sum += s.row(r).getLong(0);
            System.out.println(c.done("W0", "decode", rep, ",\"rows\":" + s.rows() + ",\"sum\":" + sum));
        }
    }

    /** Buckets of a table with dynamic ones, as Flink's operator in front of a writer chooses them; for one thread. */
    static final class Assigner {
        final HashBucketAssigner assigner;
        final RowPartitionKeyExtractor keys;

        Assigner(FileStoreTable t) {
            CoreOptions o = t.coreOptions();
            assigner = new HashBucketAssigner(t.snapshotManager(), "bench", t.store().newIndexFileHandler(), 1, 1, 0,
                    o.dynamicBucketTargetRowNum(), o.dynamicBucketMaxBuckets());
            keys = new RowPartitionKeyExtractor(t.schema());
        }

        int bucket(InternalRow row) { return assigner.assign(keys.partition(row), keys.trimmedPrimaryKey(row).hashCode()); }
    }

    // ---- W1, W5 (write side), W6, W9 (write side) -------------------------------------------------------------------

    static void upsert() throws Exception {
        ByteBuffer m = map(arg("data", ""));
        String name = arg("table", "t"), w = arg("w", "W1"), variant = arg("variant", "");
        int commits = argi("commits", 10), threads = argi("threads", 1);
        boolean pk = arg("pk", "true").equals("true");
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            Catalog c = catalog();
            Map<String, String> o = opts(arg("opts", ""));
            o.putIfAbsent("bucket", pk ? "4" : "-1");
            o.putIfAbsent("file.format", "parquet");
            o.putIfAbsent("file.compression", "zstd");
            FileStoreTable t = create(c, name, arg("kind", "orders").equals("wide") ? wideSchema(o) : ordersSchema(pk, o));
            System.gc();
            Clock clock = new Clock();
            StreamWriteBuilder wb = t.newStreamWriteBuilder();
            ExecutorService ex = Executors.newFixedThreadPool(threads);
            StreamTableWrite[] ws = new StreamTableWrite[threads];
            Source[] ss = new Source[threads];
            for (int i = 0; i < threads; i++) {
                ws[i] = wb.newWrite();
                ws[i].withIOManager(IOManager.create(arg("tmp", System.getProperty("java.io.tmpdir"))));
                ss[i] = source(m);
            }
            StreamTableCommit tc = wb.newCommit();
            final Assigner dynamic = t.bucketMode() == BucketMode.HASH_DYNAMIC ? new Assigner(t) : null;
            long rows = ss[0].rows();
            long commitNs = 0, prepNs = 0;
            for (int k = 0; k < commits; k++) {
                final long from = rows * k / commits, to = rows * (k + 1) / commits;
                List<Future<List<CommitMessage>>> fs = new ArrayList<>();
                final boolean wait = arg("wait", "last").equals("all") || k == commits - 1;
                final long id = k;
                for (int i = 0; i < threads; i++) {
                    final int n = i;
                    fs.add(ex.submit(() -> {
                        Source s = ss[n];
                        StreamTableWrite tw = ws[n];
                        if (dynamic != null) {
                            for (long r = from; r < to; r++) { GenericRow row = s.row(r); tw.write(row, dynamic.bucket(row)); }
                            dynamic.assigner.prepareCommit(id);
                        } else if (threads == 1) {
                            for (long r = from; r < to; r++) tw.write(s.row(r));
                        } else if (pk) {
                            for (long r = from; r < to; r++) {
                                int b = tw.getBucket(s.key(r));
                                if (b % threads == n) tw.write(s.row(r), b);
                            }
                        } else {
                            long a = from + (to - from) * n / threads, z = from + (to - from) * (n + 1) / threads;
                            for (long r = a; r < z; r++) tw.write(s.row(r));
                        }
                        return tw.prepareCommit(wait, id);
                    }));
                }
                List<CommitMessage> ms = new ArrayList<>();
                for (Future<List<CommitMessage>> f : fs) ms.addAll(f.get());
                long t0 = System.nanoTime();
                tc.commit(id, ms);
                commitNs += System.nanoTime() - t0;
            }
            for (StreamTableWrite x : ws) x.close();
            tc.close();
            ex.shutdown();
            System.out.println(clock.done(w, variant, rep, String.format(Locale.ROOT, ",\"rows\":%d,\"threads\":%d,\"commit_s\":%.3f%s",
                    rows, threads, commitNs / 1e9, files(dir(name)))));
            c.close();
        }
    }

    // ---- W2 ---------------------------------------------------------------------------------------------------------

    static void compact() throws Exception {
        String name = arg("table", "t");
        int threads = argi("threads", 1);
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            copy(dir(name), dir(name + "_c"));
            Catalog c = catalog();
            FileStoreTable t = open(c, name + "_c").copy(Collections.singletonMap("write-only", "false"));
            System.gc();
            Clock clock = new Clock();
            StreamWriteBuilder wb = t.newStreamWriteBuilder();
            ExecutorService ex = Executors.newFixedThreadPool(threads);
            List<Future<List<CommitMessage>>> fs = new ArrayList<>();
            int buckets = t.bucketSpec().getNumBuckets();
            for (int i = 0; i < threads; i++) {
                final int n = i;
                fs.add(ex.submit(() -> {
                    StreamTableWrite tw = wb.newWrite();
                    tw.withIOManager(IOManager.create(arg("tmp", System.getProperty("java.io.tmpdir"))));
                    for (int b = n; b < buckets; b += threads) tw.compact(BinaryRow.EMPTY_ROW, b, true);
                    List<CommitMessage> r = tw.prepareCommit(true, 1000);
                    tw.close();
                    return r;
                }));
            }
            List<CommitMessage> ms = new ArrayList<>();
            for (Future<List<CommitMessage>> f : fs) ms.addAll(f.get());
            StreamTableCommit tc = wb.newCommit();
            tc.commit(1000, ms);
            tc.close();
            ex.shutdown();
            System.out.println(clock.done("W2", arg("variant", ""), rep, ",\"threads\":" + threads + files(dir(name + "_c"))));
            c.close();
        }
    }

    // ---- W3, W9 (read side) -------------------------------------------------------------------------------------------

    /** The input's row whose note is looked for; tidelake_bench.c has the same. */
    static final long ROW_SOUGHT = 12345;

    static void scan() throws Exception {
        String name = arg("table", "t"), cols = arg("cols", "all");
        int threads = argi("threads", 1);
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            Catalog c = catalog();
            FileStoreTable t = open(c, name);
            t = t.copy(opts(arg("opts", "")));
            Clock clock = new Clock();
            RowType rt = t.rowType();
            ReadBuilder rb = t.newReadBuilder();
            boolean filter = false;
            int[] proj = null;
            if (cols.equals("3")) proj = new int[] {0, 1, 4};
            if (proj != null) rb.withProjection(proj);
            if (cols.equals("pred")) {
                PredicateBuilder pb = new PredicateBuilder(rt);
                rb.withFilter(PredicateBuilder.and(pb.equal(1, 7),
                        pb.greaterOrEqual(4, Decimal.fromUnscaledLong(2000000, 12, 2)),
                        pb.lessOrEqual(4, Decimal.fromUnscaledLong(4000000, 12, 2))));
                filter = true;
            } else if (cols.equals("city") || cols.equals("note")) {
                PredicateBuilder pb = new PredicateBuilder(rt);
                rb.withFilter(cols.equals("city") ? pb.equal(1, 7)
                        : pb.equal(6, orders(map(arg("data", ""))).row(ROW_SOUGHT).getString(6)));
                filter = true;
            }
            List<Split> splits = rb.newScan().plan().splits();
            long raw = splits.stream().filter(s -> ((DataSplit) s).rawConvertible()).count();
            RowType read = rb.readType();
            final boolean ff = filter;
            ConcurrentLinkedQueue<Split> q = new ConcurrentLinkedQueue<>(splits);
            ExecutorService ex = Executors.newFixedThreadPool(threads);
            List<Future<long[]>> fs = new ArrayList<>();
            for (int i = 0; i < threads; i++)
                fs.add(ex.submit(() -> {
                    long[] acc = new long[4];
                    Split s;
                    while ((s = q.poll()) != null) {
                        TableRead tr = rb.newRead().withIOManager(IOManager.create(arg("tmp", System.getProperty("java.io.tmpdir"))));
                        if (ff) tr = tr.executeFilter();
                        consume(tr.createReader(s), read, acc);
                    }
                    return acc;
                }));
            long[] acc = new long[4];
            for (Future<long[]> f : fs) { long[] a = f.get(); for (int i = 0; i < 4; i++) acc[i] += a[i]; }
            ex.shutdown();
            System.out.println(clock.done(arg("w", "W3"), arg("variant", "") + cols, rep, String.format(
                    ",\"rows\":%d,\"sum_id\":%d,\"sum_amount\":%d,\"sum_rest\":%d,\"splits\":%d,\"raw_splits\":%d,\"threads\":%d",
                    acc[0], acc[1], acc[2], acc[3], splits.size(), raw, threads)));
            c.close();
        }
    }

    /** Touches every value of every row, as an engine's operator would. */
    static void consume(RecordReader<InternalRow> r, RowType rt, long[] acc) throws IOException {
        int n = rt.getFieldCount();
        int[] kind = new int[n];
        for (int i = 0; i < n; i++) {
            switch (rt.getTypeAt(i).getTypeRoot()) {
                case BIGINT: kind[i] = rt.getFieldNames().get(i).equals("order_id") ? 0 : 1; break;
                case INTEGER: kind[i] = 2; break;
                case DECIMAL: kind[i] = 3; break;
                case TIMESTAMP_WITHOUT_TIME_ZONE: kind[i] = 4; break;
                case DOUBLE: kind[i] = 6; break;
                default: kind[i] = 5;
            }
        }
        RecordReader.RecordIterator<InternalRow> it;
        long rows = 0, id = 0, am = 0, rest = 0;
        while ((it = r.readBatch()) != null) {
            InternalRow x;
            while ((x = it.next()) != null) {
                rows++;
                for (int i = 0; i < n; i++) {
                    if (x.isNullAt(i)) continue;
                    switch (kind[i]) {
                        case 0: id += x.getLong(i); break;
                        case 1: rest += x.getLong(i); break;
                        case 2: rest += x.getInt(i); break;
                        case 3: am += x.getDecimal(i, 12, 2).toUnscaledLong(); break;
                        case 4: rest += x.getTimestamp(i, 3).getMillisecond() & 0xffff; break;
                        case 6: rest += (long) x.getDouble(i); break;
                        default: rest += x.getString(i).getSizeInBytes();
                    }
                }
            }
            it.releaseBatch();
        }
        r.close();
        acc[0] += rows; acc[1] += id; acc[2] += am; acc[3] += rest;
    }

    // ---- W4 -----------------------------------------------------------------------------------------------------------

    static void lookup() throws Exception {
        String name = arg("table", "t");
        int n = argi("n", 100000);
        long keys = Long.parseLong(arg("keys", "2000000"));
        Catalog c = catalog();
        FileStoreTable t = open(c, name).copy(opts(arg("opts", "")));
        StreamTableWrite hash = t.newStreamWriteBuilder().newWrite();
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            String io = arg("tmp", System.getProperty("java.io.tmpdir"));
            Clock open = new Clock();
            LocalTableQuery q = t.newLocalTableQuery().withIOManager(IOManager.create(io));
            for (Split s : t.newReadBuilder().newScan().plan().splits()) {
                DataSplit d = (DataSplit) s;
                q.refreshFiles(d.partition(), d.bucket(), Collections.emptyList(), d.dataFiles());
            }
            for (int pass = 0; pass < 4; pass++) {
                Clock clock = pass == 0 ? open : new Clock();
                Random rnd = new Random(pass == 0 ? 42 : 43);
                long[] ns = new long[n];
                long hit = 0, sum = 0;
                GenericRow full = new GenericRow(15), key = new GenericRow(1);
                for (int i = 0; i < n; i++) {
                    long k = (long) (rnd.nextDouble() * keys);
                    long t0 = System.nanoTime();
                    full.setField(0, k);
                    key.setField(0, k);
                    InternalRow r = q.lookup(BinaryRow.EMPTY_ROW, hash.getBucket(full), key);
                    if (r != null) { hit++; sum += r.getInt(1); }
                    ns[i] = System.nanoTime() - t0;
                }
                if (arg("passes", pass == 0 ? "cold" : "warm").equals(pass == 0 ? "cold" : "warm")) System.out.println(clock.done("W4", arg("variant", ""), rep,
                        ",\"pass\":" + pass + ",\"rows\":" + n + ",\"hit\":" + hit + ",\"sum\":" + sum + quant(ns)));
            }
            q.close();
        }
    }

    // ---- W5 (read side) -----------------------------------------------------------------------------------------------

    static void changelog() throws Exception {
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            Catalog c = catalog();
            Map<String, String> o = opts(arg("opts", ""));
            o.put("scan.mode", "from-snapshot");
            o.put("scan.snapshot-id", "1");
            FileStoreTable t = open(c, arg("table", "t")).copy(o);
            long last = t.snapshotManager().latestSnapshotId();
            Clock clock = new Clock();
            ReadBuilder rb = t.newReadBuilder();
            StreamTableScan s = rb.newStreamScan();
            long[] acc = new long[4];
            long plans = 0;
            while (s.checkpoint() == null || s.checkpoint() <= last) {
                TableScan.Plan p = s.plan();
                plans++;
                for (Split x : p.splits()) consume(rb.newRead().createReader(x), rb.readType(), acc);
            }
            System.out.println(clock.done("W5", arg("variant", "") + "read", rep,
                    ",\"rows\":" + acc[0] + ",\"sum_id\":" + acc[1] + ",\"sum_amount\":" + acc[2] + ",\"plans\":" + plans));
            c.close();
        }
    }

    // ---- W7 -----------------------------------------------------------------------------------------------------------

    static void small() throws Exception {
        ByteBuffer m = map(arg("data", ""));
        String name = arg("table", "small");
        int commits = argi("commits", 200), per = argi("rows", 1000), skip = argi("skip", 0);
        for (int rep = 0; rep < argi("reps", 3); rep++) {
            Catalog c = catalog();
            Map<String, String> o = opts(arg("opts", ""));
            o.putIfAbsent("bucket", "4");
            o.putIfAbsent("file.format", "parquet");
            FileStoreTable t = skip > 0 ? open(c, name) : create(c, name, ordersSchema(true, o));
            Source s = orders(m);
            Clock clock = new Clock();
            StreamWriteBuilder wb = t.newStreamWriteBuilder();
            StreamTableWrite tw = wb.newWrite();
            tw.withIOManager(IOManager.create(arg("tmp", System.getProperty("java.io.tmpdir"))));
            StreamTableCommit tc = wb.newCommit();
            long[] ns = new long[commits];
            for (int k = 0; k < commits; k++) {
                long t0 = System.nanoTime();
                for (int r = 0; r < per; r++) tw.write(s.row((long) (skip + k) * per + r));
                tc.commit(skip + k, tw.prepareCommit(arg("wait", "false").equals("true"), skip + k));
                ns[k] = System.nanoTime() - t0;
            }
            tw.close();
            tc.close();
            System.out.println(clock.done("W7", arg("variant", ""), rep, ",\"rows\":" + (commits * per) + quant(ns) + files(dir(name))));
            c.close();
        }
    }

    // ---- W8 -----------------------------------------------------------------------------------------------------------

    static void first() throws Exception {
        Catalog c = catalog();
        FileStoreTable t = open(c, arg("table", "t"));
        ReadBuilder rb = t.newReadBuilder();
        if (arg("what", "row").equals("count")) {
            rb.withProjection(new int[] {0});
            long n = 0;
            for (Split s : rb.newScan().plan().splits()) {
                long[] acc = new long[4];
                consume(rb.newRead().createReader(s), rb.readType(), acc);
                n += acc[0];
            }
            System.out.println(n);
            return;
        }
        rb.withLimit(1);
        for (Split s : rb.newScan().plan().splits()) {
            RecordReader<InternalRow> r = rb.newRead().createReader(s);
            RecordReader.RecordIterator<InternalRow> it;
            while ((it = r.readBatch()) != null) {
                InternalRow x = it.next();
                if (x != null) { System.out.println(x.getLong(0) + " " + x.getInt(1) + " " + x.getString(2)); return; }
                it.releaseBatch();
            }
        }
    }
}

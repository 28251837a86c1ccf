package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errNoPostgres reports that PostgreSQL 15 was not found.
var errNoPostgres = errors.New("PostgreSQL 15 is not installed (Debian: apt-get install postgresql-15)")

const postgresSchema = `
create table docs (id bigint primary key, doc jsonb not null);
create table half (id bigint primary key, doc jsonb not null);
create table inserted (id bigint primary key, doc jsonb not null);
create table ycsb (id text primary key, doc jsonb not null);`

const postgresIndexes = `
create index on docs ((doc->>'s'));
create index on docs (((doc->>'r')::bigint));
create index on docs (((doc->>'g')::bigint), ((doc->>'r')::bigint) desc);
create index on docs ((doc->>'c'));`

// postgresSettings differs from PostgreSQL's defaults only where these would be unfair. PostgreSQL
// gets about as much memory as a Sheaf server. Its checkpoints are as rare as its manual advises
// for many writes.
var postgresSettings = []string{
	"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=250",
	"shared_buffers=1GB", "max_wal_size=8GB", "checkpoint_timeout=30min",
	"synchronous_commit=on", "logging_collector=off",
	"log_min_messages=fatal",
}

// postgresSide is a PostgreSQL server that this program started. It stores the documents as JSONB.
type postgresSide struct {
	server  *process
	pool    *pgxpool.Pool
	relaxed *pgxpool.Pool // connections with synchronous_commit=off: commits do not wait for the disk
	version string
}

// postgresBin finds the directory of PostgreSQL's programs. On Debian, initdb is not in the PATH.
func postgresBin() (string, error) {
	candidates := []string{
		"/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin", "/opt/homebrew/opt/postgresql@15/bin",
		"/usr/local/opt/postgresql@15/bin",
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		candidates = append(candidates, filepath.Dir(path))
	}
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err == nil {
			return dir, nil
		}
	}
	return "", errNoPostgres
}

// startPostgres creates a cluster in a new directory below dir and starts its server.
func startPostgres(ctx context.Context, dir string) (*postgresSide, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	demote, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "bench", "-A",
		"trust", "--no-locale", "-E", "UTF8")
	initdb.Dir = dir
	demote(initdb)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"-D", data, "-p", strconv.Itoa(port)}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(bin, "postgres"), args...)
	cmd.Dir = dir
	demote(cmd)
	server, err := startProcess(cmd, syscall.SIGINT)
	if err != nil {
		return nil, err
	}
	s := &postgresSide{server: server}
	if err := s.connect(ctx, port); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// unprivileged makes PostgreSQL run as another user if this program runs as root, because
// PostgreSQL refuses to run as root. It gives the directory to that user. The returned function
// prepares a command for that user.
func unprivileged(dir string) (func(*exec.Cmd), error) {
	if os.Getuid() != 0 {
		return func(*exec.Cmd) {}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, err
		}
		return func(cmd *exec.Cmd) { asUser(cmd, uint32(uid), uint32(gid)) }, nil
	}
	return nil, errors.New("no user postgres or nobody to run PostgreSQL as")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func (s *postgresSide) connect(ctx context.Context, port int) error {
	uri := fmt.Sprintf("postgres://bench@127.0.0.1:%d/postgres?sslmode=disable&pool_max_conns=100&pool_max_conn_idle_time=1h", port)
	pool, err := pgxpool.New(ctx, uri)
	if err != nil {
		return err
	}
	s.pool = pool
	// The pool relaxed connects only when it is used, so it costs nothing in workloads that wait
	// for the disk.
	if s.relaxed, err = pgxpool.New(ctx, uri+"&synchronous_commit=off"); err != nil {
		return err
	}
	deadline := time.Now().Add(startTimeout)
	for {
		err = pool.QueryRow(ctx, "show server_version").Scan(&s.version)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *postgresSide) name() string     { return sidePostgres }
func (s *postgresSide) local() bool      { return false }
func (s *postgresSide) processes() []int { return []int{s.server.pid()} }
func (s *postgresSide) budget() int64    { return 0 }

func (s *postgresSide) close() error {
	for _, pool := range []*pgxpool.Pool{s.pool, s.relaxed} {
		if pool != nil {
			pool.Close()
		}
	}
	return s.server.close()
}

func (s *postgresSide) load(ctx context.Context, d dataset) error {
	if _, err := s.pool.Exec(ctx, postgresSchema); err != nil {
		return err
	}
	if err := s.copyDocs(ctx, "docs", d, d.size); err != nil {
		return err
	}
	if err := s.copyDocs(ctx, "half", d, d.half()); err != nil {
		return err
	}
	if err := s.loadScans(ctx, d); err != nil {
		return err
	}
	if _, err := s.pool.Exec(ctx, postgresIndexes); err != nil {
		return err
	}
	for _, q := range []string{"vacuum analyze", "checkpoint"} {
		if _, err := s.pool.Exec(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (s *postgresSide) copyDocs(ctx context.Context, table string, d dataset, size int) error {
	_, err := s.pool.CopyFrom(ctx, pgx.Identifier{table}, []string{"id", "doc"},
		pgx.CopyFromSlice(size, func(i int) ([]any, error) {
			doc, err := d.json(i)
			return []any{int64(i), doc}, err
		}))
	return err
}

func (s *postgresSide) prepare(ctx context.Context, op operation) error {
	switch op {
	case opInsert, opInsertSynced, opInsertMany:
		_, err := s.pool.Exec(ctx, "truncate inserted")
		return err
	default:
		return nil
	}
}

func (s *postgresSide) do(op operation) func(context.Context, *worker) error {
	return map[operation]func(context.Context, *worker) error{
		opPing:         s.ping,
		opFindID:       s.findID,
		opInsert:       s.insert(s.relaxed),
		opInsertSynced: s.insert(s.pool),
		opInsertMany:   s.insertMany,
		opUpdateInc:    s.updateInc(s.relaxed),
		opUpdateSynced: s.updateInc(s.pool),
		opScans:        s.scans(s.relaxed),
		opScansSynced:  s.scans(s.pool),
		opIndexEqual:   s.indexEqual,
		opIndexRange:   s.indexRange,
		opCompoundSort: s.compoundSort,
		opScanCount:    s.scanCount,
		opSortTop:      s.sortTop,
		opSortAll:      s.sortAll,
		opDistinct:     s.distinct,
	}[op]
}

func (s *postgresSide) ping(ctx context.Context, w *worker) error {
	return s.expect(ctx, 1, "select 1")
}

func (s *postgresSide) findID(ctx context.Context, w *worker) error {
	return s.expect(ctx, 1, "select doc from docs where id = $1", w.anyID())
}

func (s *postgresSide) insert(pool *pgxpool.Pool) func(context.Context, *worker) error {
	return func(ctx context.Context, w *worker) error {
		_, err := pool.Exec(ctx, "insert into inserted (id, doc) values ($1, $2)", w.ids.Add(1), w.json)
		return err
	}
}

// insertMany uses COPY, PostgreSQL's fastest way to insert rows.
func (s *postgresSide) insertMany(ctx context.Context, w *worker) error {
	_, err := s.relaxed.CopyFrom(ctx, pgx.Identifier{"inserted"}, []string{"id", "doc"},
		pgx.CopyFromSlice(insertBatch, func(int) ([]any, error) {
			return []any{w.ids.Add(1), w.json}, nil
		}))
	return err
}

func (s *postgresSide) updateInc(pool *pgxpool.Pool) func(context.Context, *worker) error {
	const q = "update docs set doc = jsonb_set(doc, '{n}', to_jsonb((doc->>'n')::bigint + 1)) where id = $1"
	return func(ctx context.Context, w *worker) error {
		tag, err := pool.Exec(ctx, q, w.anyID())
		if err == nil && tag.RowsAffected() != 1 {
			return fmt.Errorf("%d rows updated", tag.RowsAffected())
		}
		return err
	}
}

func (s *postgresSide) indexEqual(ctx context.Context, w *worker) error {
	return s.expect(ctx, 1, "select id, doc from docs where doc->>'s' = $1 limit 1", w.data.text(int(w.anyID())))
}

func (s *postgresSide) indexRange(ctx context.Context, w *worker) error {
	from := w.rng.Int64N(int64(w.data.size - rangeSize))
	return s.expect(ctx, rangeSize, "select id, doc from docs where (doc->>'r')::bigint >= $1 and (doc->>'r')::bigint < $2", from, from+rangeSize)
}

func (s *postgresSide) compoundSort(ctx context.Context, w *worker) error {
	const q = "select id, doc from docs where (doc->>'g')::bigint = $1 order by (doc->>'r')::bigint desc limit 20"
	return s.expect(ctx, min(sortLimit, w.data.perGroup()), q, w.rng.Int64N(groups))
}

func (s *postgresSide) scanCount(ctx context.Context, w *worker) error {
	var n int64
	if err := s.pool.QueryRow(ctx, "select count(*) from docs where (doc->>'u')::bigint < $1",
		int64(rareBelow)).Scan(&n); err != nil {
		return err
	}
	return plausibleCount(n, true, w.data)
}

func (s *postgresSide) sortTop(ctx context.Context, w *worker) error {
	return s.expect(ctx, min(topSize, w.data.half()), "select id, doc from half order by (doc->>'u')::bigint limit 100")
}

func (s *postgresSide) sortAll(ctx context.Context, w *worker) error {
	return s.expect(ctx, w.data.half(), "select id from half order by (doc->>'u')::bigint")
}

func (s *postgresSide) distinct(ctx context.Context, _ *worker) error {
	return s.expect(ctx, categories, "select distinct doc->>'c' from docs")
}

func (s *postgresSide) expect(ctx context.Context, want int, query string, args ...any) error {
	return pgExpect(ctx, s.pool, want, query, args...)
}

// pgExpect reads the rows of a prepared statement, and fails if their number is not want. It does
// not decode the rows, because the other sides do not decode documents.
func pgExpect(ctx context.Context, pool *pgxpool.Pool, want int, query string, args ...any) error {
	n, err := pgCount(ctx, pool, query, args...)
	if err == nil && n != want {
		return fmt.Errorf("%d rows, not %d: %s", n, want, strings.TrimSpace(query))
	}
	return err
}

// pgCount reads the rows of a prepared statement and returns their number.
func pgCount(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) (int, error) {
	rows, err := pool.Query(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n := 0
	for rows.Next() {
		if len(rows.RawValues()) == 0 {
			return 0, errors.New("an empty row")
		}
		n++
	}
	rows.Close()
	return n, rows.Err()
}

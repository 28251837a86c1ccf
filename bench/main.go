package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// config holds the settings from the command line.
type config struct {
	run         *regexp.Regexp
	duration    time.Duration
	rounds      int
	documents   int
	connections int
	full        bool
	resources   bool
	postgres    bool
	mongoURI    string
	out         string
	page        string
	temp        string
	patience    time.Duration
	agg         bool
	patterns    bool
	// sheaf is the path of the server program to measure. If it is empty, the program is built from
	// this source.
	sheaf string
	// before is the path of an older build of the server program, with which the new one is
	// compared. It may be empty.
	before string
	// budget is the memory budget of the Sheaf servers, in bytes.
	budget int64
	// byHand says that patterns that use a package are also measured without the package.
	byHand bool
	// writes says whether the writes of the patterns wait for the disk.
	writes concern
}

func main() {
	if os.Getenv(floorEnv) != "" {
		exit(runFloor())
	}
	cfg, err := parseFlags(os.Args[1:])
	if err != nil {
		exit(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r, err := measure(ctx, cfg, os.Stderr)
	stop()
	if err != nil {
		exit(err)
	}
	r.markdown(os.Stdout)
	err = r.write(cfg.out)
	if cfg.page != "" {
		err = errors.Join(err, r.writePage(cfg.page))
	}
	exit(err)
}

// report holds the results of a run and writes them in several formats.
type report interface {
	markdown(w io.Writer)
	write(dir string) error
	writePage(path string) error
}

func measure(ctx context.Context, cfg *config, progress io.Writer) (report, error) {
	if cfg.agg {
		return benchAgg(ctx, cfg, progress)
	}
	if cfg.patterns {
		return benchPatterns(ctx, cfg, progress)
	}
	return bench(ctx, cfg, progress)
}

func exit(err error) {
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func parseFlags(args []string) (*config, error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	run := flags.String("run", "", "measure only the workloads whose names match this regular expression")
	duration := flags.Duration("duration", 2*time.Second, "time of each measurement")
	rounds := flags.Int("rounds", 3, "number of rounds; the median counts")
	documents := flags.Int("documents", 200_000, "number of documents, a multiple of 1000")
	mongoURI := flags.String("mongo-uri", "", "another MongoDB to measure, in a database of its own that is dropped")
	out := flags.String("out", "results", "directory of results.md, results.json and results.svg")
	page := flags.String("page", "", "Markdown page whose tables and picture are to be replaced, such as ../docs/performance.md")
	temp := flags.String("temp", "", "directory on the disk to be measured (default: the system's temporary directory)")
	postgres := flags.Bool("postgres", true, "measure PostgreSQL where it is installed")
	resources := flags.Bool("resources", true, "measure memory, start and size too")
	agg := flags.Bool("agg", false, "measure aggregation pipelines over orders instead: 1,000,000 of them unless -documents says otherwise")
	patterns := flags.Bool("patterns", false, "measure patterns of applications, transactions and the log instead")
	sheaf := flags.String("sheaf", "", "measure this build of sheaf (default: build one of this source)")
	before := flags.String("before", "", "another build of sheaf, such as an earlier version's, to measure beside as \"before\"")
	budget := flags.Int64("budget", serveBudget>>20, "memory budget of the served sides in MiB")
	unsynced := flags.Bool("unsynced", false, "with -patterns: no write waits for the disk, on no side")
	byHand := flags.Bool("by-hand", false, "with -patterns: measure patterns that have a package also as the statements alone, as \"by-hand\"")
	quick := flags.Bool("quick", false, "a look in less than a minute: 20,000 documents, one short round, no directory of 1 GB")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	cfg := &config{
		duration: *duration, rounds: *rounds, documents: *documents, connections: 10_000,
		full: true, resources: *resources,
		postgres: *postgres, mongoURI: *mongoURI, out: *out, page: *page, temp: *temp, patience: 10 * time.Second,
		agg: *agg, patterns: *patterns, sheaf: *sheaf, before: *before, budget: *budget << 20,
		byHand: *byHand, writes: concernSynced,
	}
	if *unsynced {
		cfg.writes = concernUnsynced
	}
	var err error
	if cfg.run, err = regexp.Compile(*run); err != nil {
		return nil, err
	}
	if *agg {
		cfg.forAgg(flags, *quick)
		return cfg, nil
	}
	if *quick {
		cfg.duration, cfg.rounds, cfg.documents = 100*time.Millisecond, 1, 20_000
		cfg.connections, cfg.full, cfg.patience = 500, false, 100*time.Millisecond
	}
	if cfg.documents < 1000 || cfg.documents%1000 != 0 || cfg.documents%stride == 0 {
		return nil, errors.New("-documents must be a multiple of 1000, though not of 7919")
	}
	return cfg, nil
}

// forAgg changes the defaults that are different for the aggregation benchmark.
func (cfg *config) forAgg(flags *flag.FlagSet, quick bool) {
	cfg.documents = 1_000_000
	if quick {
		cfg.documents, cfg.rounds, cfg.patience = 100_000, 1, 500*time.Millisecond
	}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "documents":
			cfg.documents, _ = f.Value.(flag.Getter).Get().(int)
		case "rounds":
			cfg.rounds, _ = f.Value.(flag.Getter).Get().(int)
		}
	})
}

// bench runs the workloads and measures the resources.
func bench(ctx context.Context, cfg *config, progress io.Writer) (_ *results, err error) {
	begin := time.Now()
	at, err := newWorkplace(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	r := newRunner(cfg, progress)
	r.ids.Store(1 << 32)
	res := &results{Environment: newEnvironment(ctx, r), page: resultsPage}
	if cfg.resources {
		m := resources{
			binary: at.binary, temp: at.dir, connections: cfg.connections,
			full: cfg.full, progress: progress,
		}
		if res.Resources, err = m.measure(ctx); err != nil {
			return nil, fmt.Errorf("resources: %w", err)
		}
	}
	if err := r.measureSides(ctx, cfg, at, res); err != nil {
		return nil, err
	}
	res.Environment.end(begin)
	res.Claims = judge(res)
	return res, nil
}

// measureSides starts the sides, measures the workloads and closes the sides.
func (r *runner) measureSides(ctx context.Context, cfg *config, at *workplace, res *results) (err error) {
	defer func() {
		for _, s := range r.sides {
			err = errors.Join(err, s.close())
		}
	}()
	if err := r.start(ctx, cfg, at, res); err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	r.settle(ctx)
	for _, w := range workloads {
		if !cfg.run.MatchString(w.Name) {
			continue
		}
		figures, err := r.run(ctx, w)
		if err != nil {
			return err
		}
		w.Concern = w.concern()
		row := workloadResult{workload: w, Unit: w.unit(), Sides: figures}
		res.Workloads = append(res.Workloads, row)
		printRow(r.progress, row)
	}
	return nil
}

// start starts the sides. Even after an error, r.sides holds the sides that were started.
func (r *runner) start(ctx context.Context, cfg *config, at *workplace, res *results) error {
	p, err := startFloor()
	if err := r.addServed(sideFloor, p, concernUnsynced, err); err != nil {
		return err
	}
	p, err = startSheaf(at.binary, filepath.Join(at.dir, "served"), cfg.budget)
	if err := r.addServed(sideSheaf, p, concernUnsynced, err); err != nil {
		return err
	}
	if cfg.before != "" {
		p, err = startSheaf(cfg.before, filepath.Join(at.dir, "served-before"), cfg.budget)
		if err := r.addServed(sideBefore, p, concernUnsynced, err); err != nil {
			return err
		}
	}
	if res.Environment.Postgres, err = r.startPostgres(ctx, cfg, at.dir); err != nil {
		return err
	}
	if cfg.mongoURI != "" {
		if err := r.add(peerSide(ctx, cfg.mongoURI, concernUnsynced)); err != nil {
			return err
		}
	}
	if err := r.add(floorMemorySide()); err != nil {
		return err
	}
	if err := r.add(embeddedSide(filepath.Join(at.dir, "embedded"), concernUnsynced)); err != nil {
		return err
	}
	return r.add(newPebbleSide(filepath.Join(at.dir, "pebble")))
}

// add adds a side, unless err is not nil. It returns err.
func (r *runner) add(s side, err error) error {
	if err == nil {
		r.sides = append(r.sides, s)
	}
	return err
}

// addServed adds the side of a server process, unless err is not nil.
func (r *runner) addServed(label string, p *process, writes concern, err error) error {
	if err != nil {
		return err
	}
	return r.add(servedSide(label, p, writes))
}

// startPostgres adds PostgreSQL as a side if it is installed. It returns PostgreSQL's version, or
// the reason why PostgreSQL is missing.
func (r *runner) startPostgres(ctx context.Context, cfg *config, temp string) (string, error) {
	if !cfg.postgres {
		return "not asked for", nil
	}
	dir := filepath.Join(temp, "postgres")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	s, err := startPostgres(ctx, dir)
	if errors.Is(err, errNoPostgres) {
		fmt.Fprintln(r.progress, err)
		return "not installed", nil
	}
	if err != nil {
		return "", fmt.Errorf("start PostgreSQL: %w", err)
	}
	r.sides = append(r.sides, s)
	return s.version, nil
}

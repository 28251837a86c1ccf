package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/transfer"
)

// shownFailures is how many bad records are printed. Further bad records are only counted.
const shownFailures = 100

// importFlags holds the settings of sheaf import.
type importFlags struct {
	target       targetFlags
	format       string
	parsed       transfer.Format // the parsed format, set by check
	columns      []string
	delimiter    string
	ignoreBlanks bool
	roundNumbers bool
	drop         bool
	upsertFields []string
	quiet        bool
}

func newImport() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Insert the documents of a file into a collection",
		Long: "Insert the documents of a file (- for standard input) into a collection: JSON lines, a JSON array, CSV or TSV, in\n" +
			"MongoDB Extended JSON v2. The ending of the name selects the format: .csv, .tsv, .json, .jsonl or .ndjson. A bad record is\n" +
			"reported with its line, and the rest is imported.\n\n" +
			"The first line of a CSV file names the columns, optionally with types: name,pop.int32(),born.date(2006-01-02),\n" +
			"address.city. A cell of type auto becomes a number only if that number, printed again, has the same text: 10, -3, 1.5,\n" +
			"2.0 and 1e-05 become numbers; 007, 1.10 and 1E5 stay text. Types: auto, string, int32, int64, double, decimal, boolean,\n" +
			"date(layout), objectid, binary(hex), json.\n\n" +
			"No number loses digits silently. In JSON, a number that neither a 64-bit integer nor a double can hold makes a bad\n" +
			"record: {\"$numberDecimal\": \"…\"} keeps 34 digits, and --round-numbers stores the nearest double. In CSV files, columns\n" +
			"of type double and json(round) round. Dates have milliseconds.",
		Example: "  sheaf import cities.json --db geo --collection cities --drop\n" +
			"  sheaf import people.csv --dir ~/data -d app -c people --upsert-fields email",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags().Changed, args[0]); err != nil {
				return err
			}
			return runImport(cmd.Context(), &f, args[0], cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.target.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "json, csv or tsv (default: by the file's name)")
	flags.StringSliceVar(&f.columns, "columns", nil, "columns of a CSV file that has no header line")
	flags.StringVar(&f.delimiter, "delimiter", "", "separator of the cells of a CSV file, such as ; or tab (default: by the header line)")
	flags.BoolVar(&f.ignoreBlanks, "ignore-blanks", false, "omit fields whose CSV cell is empty")
	flags.BoolVar(&f.roundNumbers, "round-numbers", false, "round JSON numbers that no type can hold to the nearest double")
	flags.BoolVar(&f.drop, "drop", false, "drop the collection first")
	flags.StringSliceVar(&f.upsertFields, "upsert-fields", nil, "replace the document that has the same values in these fields, if it exists")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// check returns an error for flags that would have no effect, and for values with which no import
// can run.
func (f *importFlags) check(given func(flag string) bool, path string) error {
	if err := cmp.Or(f.target.check(given), f.target.checkAcknowledged()); err != nil {
		return err
	}
	var err error
	if f.parsed, err = transfer.ParseFormat(f.format, path); err != nil {
		return err
	}
	if err := onlyFor(given, f.parsed.IsTable(), "CSV", "columns", "delimiter", "ignore-blanks"); err != nil {
		return err
	}
	if err := onlyFor(given, !f.parsed.IsTable(), "JSON", "round-numbers"); err != nil {
		return err
	}
	if given("columns") && len(f.columns) == 0 {
		return errors.New("--columns is empty: name the columns, such as name,address.city")
	}
	if given("upsert-fields") && (len(f.upsertFields) == 0 || slices.ContainsFunc(f.upsertFields, isNoPath)) {
		return fmt.Errorf("--upsert-fields %s: it must be paths of fields, such as email,address.city", strings.Join(f.upsertFields, ","))
	}
	return nil
}

// onlyFor checks flags that only one format has. It returns an error if such a flag is given and
// another format is used.
func onlyFor(given func(flag string) bool, is bool, format string, flags ...string) error {
	for _, flag := range flags {
		if !is && given(flag) {
			return fmt.Errorf("--%s is for %s: leave it out, or give another --format", flag, format)
		}
	}
	return nil
}

// isNoPath reports whether text is not a path of field names, such as "a.b".
func isNoPath(text string) bool { return slices.Contains(strings.Split(text, "."), "") }

func runImport(ctx context.Context, f *importFlags, path string, stdin io.Reader,
	stdout, stderr io.Writer,
) (err error) {
	delimiter, err := parseDelimiter(f.delimiter)
	if err != nil {
		return err
	}
	in, size, err := openInput(path, stdin)
	if err != nil {
		return err
	}
	defer in.Close()
	coll, closeTarget, err := f.target.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	if f.format == "" && !f.quiet {
		sayFormat(stderr, path, "read")
	}
	bar := newProgress(stderr, f.quiet, size, true)
	records, err := transfer.NewReader(bar.reader(interruptible(ctx, in)), f.parsed, transfer.ReaderOptions{
		Columns: f.columns, IgnoreBlanks: f.ignoreBlanks, Delimiter: delimiter, RoundNumbers: f.roundNumbers,
	})
	if isInterrupted(ctx, err) {
		return fmt.Errorf("%s: %w", path, interruptedError{context.Cause(ctx), "nothing was imported"})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if f.drop { // the file is readable, so the collection may be dropped
		if err := coll.Drop(ctx); err != nil {
			return fmt.Errorf("drop %s: %w", coll.Name(), err)
		}
	}
	failures := 0
	im := transfer.Importer{
		Collection: coll, UpsertFields: f.upsertFields, Progress: bar.documents,
		Report: func(line int, err error) {
			if failures++; failures <= shownFailures {
				bar.clear()
				fmt.Fprintf(stderr, "%s:%d: %v\n", path, line, err)
			}
		},
	}
	started := time.Now()
	res, err := im.Run(ctx, records)
	bar.finish()
	printImport(stdout, path, res, time.Since(started))
	if isInterrupted(ctx, err) {
		return fmt.Errorf("%s: %w", path, interruptedError{context.Cause(ctx), leftByImport(coll, res, err)})
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if res.Failed > 0 {
		return fmt.Errorf("%s: %d of %d records did not go in", path, res.Failed, res.Inserted+res.Replaced+res.Failed)
	}
	return nil
}

// leftByImport describes what an interrupted import has left.
func leftByImport(coll *mongo.Collection, res transfer.Result, err error) string {
	return fmt.Sprintf("the %d documents imported so far stay in %s.%s; %v", res.Inserted+res.Replaced,
		coll.Database().Name(), coll.Name(), err)
}

// parseDelimiter parses the value of --delimiter: one character, or the word tab.
func parseDelimiter(text string) (rune, error) {
	if text == "tab" || text == `\t` {
		return '\t', nil
	}
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case text == "":
		return 0, nil
	case size != len(text) || r == utf8.RuneError || strings.ContainsRune("\"\r\n", r):
		return 0, fmt.Errorf("--delimiter %q: it must be one character other than a quote, or tab", text)
	}
	return r, nil
}

func printImport(out io.Writer, path string, res transfer.Result, took time.Duration) {
	total := res.Inserted + res.Replaced
	fmt.Fprintf(out, "%s: %d documents imported in %s (%.0f/s)", path, total, took.Round(time.Millisecond),
		float64(total)/max(took.Seconds(), 1e-3))
	if res.Replaced > 0 {
		fmt.Fprintf(out, ", %d of them replaced", res.Replaced)
	}
	if res.Failed > 0 {
		fmt.Fprintf(out, ", %d records failed", res.Failed)
	}
	fmt.Fprintln(out)
}

// openInput opens a file, or standard input if the path is "-". It also returns the size in bytes,
// or -1 for standard input.
func openInput(path string, stdin io.Reader) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(stdin), -1, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if info.IsDir() {
		return nil, 0, errors.Join(fmt.Errorf("%s is a directory: name a file, or - for standard input", path),
			f.Close())
	}
	return f, info.Size(), nil
}

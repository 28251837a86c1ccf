package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/transfer"
)

// exportFlags holds the settings of sheaf export.
type exportFlags struct {
	target     targetFlags
	format     string
	parsed     transfer.Format // the parsed format, set by check
	columns    []string
	canonical  bool
	query      string
	sort       string
	projection string
	skip       int64
	limit      int64
	replace    bool
	quiet      bool
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write the documents of a collection to a file",
		Long: "Write the documents of a collection to a file (- for standard output): JSON lines, a JSON array, CSV or TSV, in\n" +
			"MongoDB Extended JSON v2. The ending of the name selects the format: .csv, .tsv, .json, .jsonl or .ndjson.\n\n" +
			"With --canonical, every type is kept exactly. JSON cannot hold text that is not UTF-8: the export stops and names\n" +
			"the document; with --replace-invalid it replaces the bytes. CSV keeps them.",
		Example: "  sheaf export cities.json --db geo --collection cities --query '{\"country\": \"NO\"}'\n" +
			"  sheaf export people.csv --dir ~/data -d app -c people --columns 'name,born.date(2006-01-02),address.city'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags().Changed, args[0]); err != nil {
				return err
			}
			return runExport(cmd.Context(), &f, args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f.target.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.format, "format", "", "json (lines), jsonarray, csv or tsv (default: by the file's name)")
	flags.StringSliceVar(&f.columns, "columns", nil, "columns of a CSV file, optionally with types")
	flags.BoolVar(&f.canonical, "canonical", false, "write canonical instead of relaxed Extended JSON")
	flags.StringVar(&f.query, "query", "{}", "filter, in Extended JSON")
	flags.StringVar(&f.sort, "sort", "", "sort order, in Extended JSON")
	flags.StringVar(&f.projection, "projection", "", "projection, in Extended JSON")
	flags.Int64Var(&f.skip, "skip", 0, "number of documents to skip first")
	flags.Int64Var(&f.limit, "limit", 0, "maximum number of documents; 0 for no limit")
	flags.BoolVar(&f.replace, "replace-invalid", false, "in JSON, replace bytes that are not UTF-8 with U+FFFD, instead of stopping")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
	return cmd
}

// check returns an error for flags that would have no effect, and for values with which no export
// can run.
func (f *exportFlags) check(given func(flag string) bool, path string) (err error) {
	f.parsed, err = transfer.ParseFormat(f.format, path)
	switch {
	case err != nil:
		return err
	case f.skip < 0:
		return fmt.Errorf("--skip %d: it must be 0 or more", f.skip)
	case f.limit < 0:
		return fmt.Errorf("--limit %d: it must be 0 or more; 0 means no limit", f.limit)
	}
	_, err = transfer.NewWriter(io.Discard, f.parsed, f.writerOptions())
	isCSV := f.parsed.IsTable()
	return cmp.Or(f.target.check(given), onlyFor(given, isCSV, "CSV", "columns"),
		onlyFor(given, !isCSV, "JSON", "canonical", "replace-invalid"), err)
}

func (f *exportFlags) writerOptions() transfer.WriterOptions {
	return transfer.WriterOptions{Canonical: f.canonical, Columns: f.columns, Replace: f.replace}
}

// findOptions parses the flags that select and order the documents.
func (f *exportFlags) findOptions() (bson.D, *options.FindOptionsBuilder, error) {
	opts := options.Find().SetSkip(f.skip).SetLimit(f.limit)
	query, err := parseFlag("query", f.query)
	if err != nil {
		return nil, nil, err
	}
	if f.sort != "" {
		sort, err := parseFlag("sort", f.sort)
		if err != nil {
			return nil, nil, err
		}
		opts.SetSort(sort)
	}
	if f.projection != "" {
		projection, err := parseFlag("projection", f.projection)
		if err != nil {
			return nil, nil, err
		}
		opts.SetProjection(projection)
	}
	return query, opts, nil
}

func parseFlag(name, text string) (bson.D, error) {
	doc, err := transfer.ParseDocument(text)
	if err != nil {
		return nil, fmt.Errorf("--%s is not a document in Extended JSON, such as {\"a\": 1}: %w", name, err)
	}
	return doc, nil
}

func runExport(ctx context.Context, f *exportFlags, path string, stdout, stderr io.Writer) (err error) {
	query, opts, err := f.findOptions()
	if err != nil {
		return err
	}
	if err := f.target.checkStore(); err != nil {
		return err
	}
	coll, closeTarget, err := f.target.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTarget()) }()
	steps := int64(-1)
	if len(query) == 0 && f.limit == 0 {
		if steps, err = coll.EstimatedDocumentCount(ctx); err != nil {
			return err
		}
	}
	if f.format == "" && !f.quiet {
		sayFormat(stderr, path, "written")
	}
	bar := newProgress(stderr, f.quiet, steps, false)
	started := time.Now()
	var n int64
	err = toFile(path, stdout, func(out io.Writer) error {
		w, err := transfer.NewWriter(out, f.parsed, f.writerOptions())
		if err != nil {
			return err
		}
		cursor, err := coll.Find(ctx, query, opts)
		if err != nil {
			return err
		}
		n, err = transfer.Export(ctx, cursor, w, bar.set)
		return err
	})
	bar.finish()
	if isInterrupted(ctx, err) {
		return interruptedError{context.Cause(ctx), leftByExport(path, n, steps)}
	}
	if err != nil {
		return err
	}
	if f.quiet {
		return nil
	}
	took := time.Since(started)
	fmt.Fprintf(stderr, "%s: %d documents exported in %s (%.0f/s)\n", path, n, took.Round(time.Millisecond),
		float64(n)/max(took.Seconds(), 1e-3))
	return nil
}

// leftByExport describes what an interrupted export has left. done is the number of exported
// documents, steps about the number of all documents, negative if it is unknown.
func leftByExport(path string, done, steps int64) string {
	how := fmt.Sprintf("%d documents", done)
	if steps >= 0 {
		how = fmt.Sprintf("%d of about %d documents", done, steps)
	}
	if path == "-" {
		return "the output ends after " + how
	}
	what := "was not made"
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		what = "is incomplete"
	} else if err == nil {
		what = "is as it was before"
	}
	return fmt.Sprintf("%s were read, and %s %s", how, path, what)
}

// sayFormat prints the format of the file, if neither a flag nor the file's name selects it.
func sayFormat(stderr io.Writer, path, done string) {
	if format, told := transfer.FormatOf(path); !told && path != "-" {
		fmt.Fprintf(stderr, "%s: %s as %s, since its name tells no format; --format does\n", path, done, strings.ToUpper(string(format)))
	}
}

// toFile calls write with a file, or with standard output if the path is "-". The file gets its
// name only when it is complete and synced. Only its owner can read it, because the same is true
// for the files of the store. toFile writes directly to a device or a named pipe.
func toFile(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "-" {
		out := bufio.NewWriterSize(stdout, 1<<16)
		return errors.Join(write(out), out.Flush())
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return toDevice(path, write)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(tmp, 1<<16)
	if err := errors.Join(write(out), out.Flush(), tmp.Sync(), tmp.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return os.Rename(tmp.Name(), path)
}

// toDevice calls write with an existing path that is not a regular file.
func toDevice(path string, write func(io.Writer) error) error {
	device, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(device, 1<<16)
	return errors.Join(write(out), out.Flush(), device.Close())
}

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

// exportFlags are the settings of sheaf export.
type exportFlags struct {
	target     targetFlags
	format     string
	parsed     transfer.Format // check sets it
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
		Short: "Write the documents of a collection into a file",
		Long: "Write the documents of a collection into a file (- for the standard output): JSON lines, a JSON array, CSV or TSV, in\n" +
			"MongoDB Extended JSON v2. Names that end in .csv, .tsv, .json, .jsonl and .ndjson tell which. With --canonical every type is kept exactly. JSON cannot hold text\n" +
			"that is not UTF-8: the export stops and names the document, or with --replace-invalid replaces the bytes. CSV keeps them.",
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
	flags.StringVar(&f.format, "format", "", "json (lines), jsonarray, csv or tsv (default: told by the file's name)")
	flags.StringSliceVar(&f.columns, "columns", nil, "the columns of a CSV file, with types if you like")
	flags.BoolVar(&f.canonical, "canonical", false, "write canonical Extended JSON in place of relaxed")
	flags.StringVar(&f.query, "query", "{}", "which documents, in Extended JSON")
	flags.StringVar(&f.sort, "sort", "", "in which order, in Extended JSON")
	flags.StringVar(&f.projection, "projection", "", "which fields, in Extended JSON")
	flags.Int64Var(&f.skip, "skip", 0, "leave out so many documents first")
	flags.Int64Var(&f.limit, "limit", 0, "write at most so many documents")
	flags.BoolVar(&f.replace, "replace-invalid", false, "in JSON, write U+FFFD in place of bytes that are not UTF-8, rather than stop")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing but errors")
	return cmd
}

// check refuses flags that would do nothing, and values that no export can run with.
func (f *exportFlags) check(given func(flag string) bool, path string) (err error) {
	f.parsed, err = transfer.ParseFormat(f.format, path)
	switch {
	case err != nil:
		return err
	case f.skip < 0:
		return fmt.Errorf("--skip %d: it must be 0 or more", f.skip)
	case f.limit < 0:
		return fmt.Errorf("--limit %d: it must be 0 or more; 0 is no limit", f.limit)
	}
	_, err = transfer.NewWriter(io.Discard, f.parsed, f.writerOptions())
	isCSV := f.parsed.IsTable()
	return cmp.Or(f.target.check(given), onlyFor(given, isCSV, "CSV", "columns"),
		onlyFor(given, !isCSV, "JSON", "canonical", "replace-invalid"), err)
}

func (f *exportFlags) writerOptions() transfer.WriterOptions {
	return transfer.WriterOptions{Canonical: f.canonical, Columns: f.columns, Replace: f.replace}
}

// findOptions reads the flags that say what is exported.
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
	fmt.Fprintf(stderr, "%s: %d documents exported in %s (%.0f/s)\n", path, n, took.Round(time.Millisecond), float64(n)/max(took.Seconds(), 1e-3))
	return nil
}

// leftByExport says what an interrupted export of about so many documents has done; of an unknown
// number if negative.
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

// sayFormat says which format was taken where neither a flag nor the file's name tells one.
func sayFormat(stderr io.Writer, path, done string) {
	if format, told := transfer.FormatOf(path); !told && path != "-" {
		fmt.Fprintf(stderr, "%s: %s as %s, since its name tells no format; --format does\n", path, done, strings.ToUpper(string(format)))
	}
}

// toFile calls write with a file that takes its name only when it is complete and on the disk, or
// with the standard output for "-". A device or a named pipe is written itself. Only the owner may
// read a file, as with the store that its documents come from.
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

// toDevice writes into what stands at path and is no file.
func toDevice(path string, write func(io.Writer) error) error {
	device, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(device, 1<<16)
	return errors.Join(write(out), out.Flush(), device.Close())
}

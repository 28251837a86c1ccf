package sim

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
)

// output holds the flags that say where results go.
type output struct {
	out, html, markdown string
	json, quiet, book   bool
	designs             bool // the results are of designs for one problem
}

func (o *output) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.out, "out", "o", "", "store the result as JSON in this file, or several results in this directory (docs/simulator.md)")
	flags.StringVar(&o.html, "html", "", "write a report with charts to this file")
	flags.StringVar(&o.markdown, "markdown", "", "write a report for a pull request to this file")
	flags.BoolVar(&o.json, "json", false, "print the result as JSON instead of a table")
	flags.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress")
	flags.BoolVar(&o.book, "book", false, "compare with the books' figures, which are from another machine and era")
}

// write prints results, and stores them in files if flags say so.
func (o *output) write(cmd *cobra.Command, results ...*result.Result) error {
	stdout := cmd.OutOrStdout()
	for _, r := range results {
		if o.json {
			if err := r.Write(stdout); err != nil {
				return err
			}
			continue
		}
		if err := report.Table(stdout, r); err != nil {
			return err
		}
		if o.book {
			if err := report.BookTable(stdout, r); err != nil {
				return err
			}
		}
	}
	if o.out != "" {
		if err := o.store(results); err != nil {
			return err
		}
	}
	if o.html != "" {
		if err := toFile(o.html,
			func(w io.Writer) error {
				return report.Page{Book: o.book, Designs: o.designs}.HTML(w, results...)
			}); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return toFile(o.markdown, func(w io.Writer) error {
			if err := report.Markdown(w, results...); err != nil || !o.book {
				return err
			}
			for _, r := range results {
				if err := report.BookMarkdown(w, r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return nil
}

// store writes one result to a file. It writes several results to a directory, each to a file named
// after its scenarios.
func (o *output) store(results []*result.Result) error {
	if len(results) == 1 && !isDir(o.out) {
		return toFile(o.out, results[0].Write)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("store the results: %w", err)
	}
	for _, r := range results {
		labels := make([]string, len(r.Scenarios))
		for i, s := range r.Scenarios {
			labels[i] = strings.ReplaceAll(s.Label, string(os.PathSeparator), "-")
		}
		if err := toFile(filepath.Join(o.out, strings.Join(labels, "+")+".json"), r.Write); err != nil {
			return err
		}
	}
	return nil
}

// toFile writes a file, and returns an error if it cannot be written completely.
func toFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readAll(paths []string) (out []*result.Result, err error) {
	for _, path := range paths {
		r, err := result.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func newReport() *cobra.Command {
	o := &output{}
	cmd := &cobra.Command{
		Use:   "report RESULT.json…",
		Short: "Show stored results as a table, as HTML with charts, or as Markdown",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			results, err := readAll(args)
			if err != nil {
				return err
			}
			if err := o.write(cmd, results...); err != nil {
				return err
			}
			return verdict(results...)
		},
	}
	o.register(cmd)
	return cmd
}

func newCompare() *cobra.Command {
	html, markdown, book := "", "", false
	cmd := &cobra.Command{
		Use:   "compare A.json [B.json]",
		Short: "Compare two results, or with --book one result with the books' figures",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := (&output{html: html, markdown: markdown}).check(); err != nil {
				return err
			}
			results, err := readAll(args)
			if err != nil {
				return err
			}
			if len(results) == 1 && !book {
				return errors.New("compare needs a second result, or --book")
			}
			if len(results) == 1 {
				return report.BookTable(cmd.OutOrStdout(), results[0])
			}
			c := report.Compare(results[0], results[1])
			if err := c.Text(cmd.OutOrStdout()); err != nil {
				return err
			}
			if html != "" {
				if err := toFile(html, func(w io.Writer) error {
					return report.Page{Book: book}.HTML(w, results...)
				}); err != nil {
					return err
				}
			}
			if markdown != "" {
				return toFile(markdown, c.Markdown)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&html, "html", "", "write a report with charts to this file")
	cmd.Flags().StringVar(&markdown, "markdown", "", "write the comparison for a pull request to this file")
	cmd.Flags().BoolVar(&book, "book", false, "compare with the books' figures: of another machine and era")
	return cmd
}

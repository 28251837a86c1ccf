// Package report opens the simulator's HTML reports in Chromium, in a light and a dark colour
// scheme and in two widths. It checks that charts are drawn and nothing overlaps, that the page
// loads nothing, and that the browser reports no errors.
//
// It gets the reports from the tests of sim/report, which it runs. SHEAF_SCREENSHOTS can name a
// folder for screenshots. SHEAF_CHROMIUM names the browser if it is not in the PATH. Without
// Chromium the tests are skipped.
package report

// Package report opens the simulator's HTML reports in Chromium, in light and dark, wide and
// narrow: charts are drawn and in their place, nothing is fetched, nothing is complained of.
//
// The reports are those of the tests of sim/report, which it runs. SHEAF_SCREENSHOTS names a folder
// that gets pictures of them. Without Chromium there is nothing to test; SHEAF_CHROMIUM names it
// where it is not on the path.
package report

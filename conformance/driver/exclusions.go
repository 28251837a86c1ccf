package driver

import (
	"path"
	"regexp"
	"strings"
)

// exclusion names tests that are left out. File and Test are patterns as of path.Match; an empty Test is all of a file.
type exclusion struct {
	File   string // area/file.json
	Test   string
	Reason string
}

// exclusions is the whole list.
var exclusions = []exclusion{
	{"crud/unified/aggregate-merge*.json", "", noMerge},
	{"crud/unified/db-aggregate.json", "*$listLocalSessions*", noListSessions},
	{"unified-test-format/valid-pass/poc-crud.json", "*$listLocalSessions*", noListSessions},
	{"collection-management/modifyCollection-errorResponse.json", "*prepareUnique*", "collMod does not know prepareUnique yet"},
	{"collection-management/timeseries-collection.json", "", "time series collections come in a later version"},
	{"unified-test-format/valid-pass/collectionData-createOptions.json", "", "$collStats in aggregation comes in a later version"},
	{"read-write-concern/operation/default-write-concern-4.2.json", "Aggregate with $merge*", noMerge},
}

// Reasons that several exclusions share.
const (
	noMerge        = "$merge comes in a later version"
	noListSessions = "$listLocalSessions comes in a later version"
)

// excluded returns why a test is left out, or "".
func excluded(file, test string) string {
	for _, e := range exclusions {
		if matches(e.File, file) && (e.Test == "" || matches(e.Test, test)) {
			return e.Reason
		}
	}
	return ""
}

// skipPattern returns a pattern for go test's -skip that names the excluded tests of an area in one of the driver's own
// test programs, as testing writes their names.
func skipPattern(program, area string) (pattern string, reasons []string) {
	for _, e := range exclusions {
		if rest, ok := strings.CutPrefix(e.File, area+"/"); ok {
			test := strings.TrimSuffix(e.Test, "*")
			name := regexp.QuoteMeta(strings.ReplaceAll(test, " ", "_"))
			pattern = strings.Join([]string{program, area, regexp.QuoteMeta(rest), name}, "/")
			reasons = append(reasons, e.File+": "+e.Test+": "+e.Reason)
		}
	}
	return pattern, reasons
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

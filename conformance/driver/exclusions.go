package driver

import "path"

// exclusion excludes tests. File and Test are patterns for path.Match. An empty Test stands for all
// tests of a file.
type exclusion struct {
	File   string // the path of the form area/file.json
	Test   string
	Reason string
}

const threeMembers = "they wait for the events of a set of three members (issue 11)"

// exclusions lists all excluded tests.
var exclusions = []exclusion{
	{"server-discovery-and-monitoring/unified/logging-replicaset.json", "Topology lifecycle", threeMembers},
	{"server-discovery-and-monitoring/unified/logging-replicaset.json", "Successful heartbeat", threeMembers},
	{"server-selection/logging/replica-set.json", "", threeMembers},
}

// excluded returns the reason why a test is excluded, or an empty string if it is not.
func excluded(file, test string) string {
	for _, e := range exclusions {
		if matches(e.File, file) && (e.Test == "" || matches(e.Test, test)) {
			return e.Reason
		}
	}
	return ""
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

package sheaf

import "runtime/debug"

// Version is the version of Sheaf.
const Version = "0.1.0"

// Revision returns the commit from which the program was built, or "unknown" if the build did not
// record it.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}

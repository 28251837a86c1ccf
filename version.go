package sheaf

import "runtime/debug"

// Version is Sheaf's version.
const Version = "0.1.0"

// revision returns the commit that the program was built from, where the build recorded it.
func revision() string {
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

package command

// UnsupportedLevel returns the reason why a command does not support a read concern level, or "" if
// it supports the level.
func UnsupportedLevel(d *Definition, level string) string {
	switch {
	case level == "" || level == LevelLocal || d.Snapshot:
		return ""
	case !d.Read:
		return "read concern not supported"
	case level == LevelSnapshot:
		return "read concern snapshot not supported"
	default:
		return ""
	}
}

package command

const (
	startupLog     = "startup_log"
	startupLogSize = 10 << 20
)

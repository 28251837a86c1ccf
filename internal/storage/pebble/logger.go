package pebble

import (
	"fmt"
	"log/slog"
)

// logger passes Pebble's messages to log/slog. Its Fatalf panics with a fatalError instead of
// ending the process.
type logger struct {
	logger *slog.Logger
	guard  *guard
}

// Infof implements pebble.Logger.
func (l *logger) Infof(format string, args ...any) {
	l.logger.Debug("storage: " + fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l *logger) Errorf(format string, args ...any) {
	l.logger.Error("storage: " + fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger.
func (l *logger) Fatalf(format string, args ...any) {
	err := fatalError{message: fmt.Sprintf(format, args...)}
	l.guard.fail(err)
	panic(err)
}

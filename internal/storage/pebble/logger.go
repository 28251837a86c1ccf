package pebble

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
)

// logger passes Pebble's messages to log/slog. Its Fatalf panics with a fatalError rather than end the process.
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

// listener reports what an operator wants to know of the background.
func (e *Engine) listener() *pebble.EventListener {
	log := e.options.Logger
	return &pebble.EventListener{
		// Each memtable has a log of its own.
		WALCreated: func(pebble.WALCreateInfo) { e.unflushed.rotate() },
		BackgroundError: func(err error) {
			if errors.Is(err, errOpening) {
				return
			}
			e.backgroundErrors.Add(1)
			if isNoSpace(err) {
				e.guard.space.missed()
			}
			log.Error("storage: background work failed, it will be tried again", "error", firstLine(err))
		},
		FlushEnd: func(info pebble.FlushInfo) {
			e.flushes.add(info)
			e.longKeys.changed()
			e.guard.flushed(info.Err)
		},
		CompactionEnd: func(pebble.CompactionInfo) { e.longKeys.changed() },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("storage: corrupt data", "file", info.Path, "error", firstLine(info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Warn("storage: writers wait for flushes or compactions", "reason", info.Reason)
		},
	}
}

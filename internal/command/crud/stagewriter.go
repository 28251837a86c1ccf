package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/write"
)

// stageWriter is what $out and $merge write with.
type stageWriter struct {
	*read.Pipelines
	service *command.Service
	writes  write.Options
}

// newStageWriter returns what the writing stages of p write with.
func newStageWriter(r *command.Request, p *read.Pipelines) source.Writer {
	return &stageWriter{p, r.Service, writeOptions(r)}
}

package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/write"
)

// stageWriter implements source.Writer: it writes the output of $out and $merge.
type stageWriter struct {
	*read.Pipelines
	service *command.Service
	writes  write.Options
}

// newStageWriter returns the writer for the stages of p that write.
func newStageWriter(r *command.Request, p *read.Pipelines) source.Writer {
	return &stageWriter{p, r.Service, writeOptions(r)}
}

package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// stageWriter is what $out and $merge write with.
type stageWriter struct {
	*command.Pipelines
	service *command.Service
}

// NewStageWriter returns what the writing stages of p write with.
func NewStageWriter(s *command.Service, p *command.Pipelines) pipeline.Writer {
	return &stageWriter{p, s}
}

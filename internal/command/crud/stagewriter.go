package crud

import (
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// stageWriter is what $out and $merge write with.
type stageWriter struct{ *command.Pipelines }

// NewStageWriter returns what the writing stages of p write with.
func NewStageWriter(p *command.Pipelines) pipeline.Writer { return &stageWriter{p} }

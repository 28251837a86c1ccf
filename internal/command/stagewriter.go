package command

import "github.com/sheafdb/sheaf/internal/pipeline"

// stageWriter is what $out and $merge write with.
type stageWriter struct{ *pipelines }

// newStageWriter returns what the writing stages of p write with.
func newStageWriter(p *pipelines) pipeline.Writer { return &stageWriter{p} }

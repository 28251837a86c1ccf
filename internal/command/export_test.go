package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
)

// What outside tests of this package use.
var (
	FieldIndex  = fieldIndex
	FindGeneric = findGeneric
	StampOf     = stampOf
)

// SetBatchBytes makes batches smaller than a reply can be, so that tests need no large documents.
func (s *Service) SetBatchBytes(n int) { s.batchBytes = n }

// AppendTimes appends the cluster time to a reply.
func (s *Service) AppendTimes(reply *bsonx.Builder, op *session.Op) { s.appendTimes(reply, op) }

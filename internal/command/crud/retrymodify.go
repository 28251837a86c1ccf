package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/retryable"
	"github.com/sheafdb/sheaf/internal/write"
)

// The error codes of MongoDB for a retry that asks for another kind of write than the first
// attempt.
const (
	codeUpdateRetry  = mongoerr.Code(40638)
	codeDeleteRetry  = mongoerr.Code(40606)
	codeUpsertRetry  = mongoerr.Code(40608)
	codeReplaceRetry = mongoerr.Code(40609)
)

// answerRetry replies to a findAndModify that an earlier attempt has executed. It takes the result
// from the record.
func (m *modification) answerRetry(sc read.Scope, rec *retryable.Record, reply *bsonx.Builder) error {
	upserted := !rec.Upserted.IsMissing()
	if err := m.checkRetry(rec); err != nil {
		return err
	}
	m.found, m.value = rec.Value != nil, rec.Value
	f, err := sc.Filter(m.queryDoc())
	if err != nil {
		return err
	}
	if m.proj, err = sc.Projection(m.req.Doc("fields"), f); err != nil {
		return err
	}
	if err := m.project(); err != nil {
		return err
	}
	reply.StartDocField("lastErrorObject")
	reply.Int32("n", 1)
	if rec.Kind != retryable.ModifyDelete {
		reply.Bool("updatedExisting", !upserted)
		reply.Value("upserted", rec.Upserted)
	}
	reply.End()
	m.appendValue(reply)
	reply.Int32("retriedStmtId", m.req.Retry.Write.Statement(0))
	return nil
}

// checkRetry returns an error if the request does not match the kind of write that the earlier
// attempt recorded.
func (m *modification) checkRetry(rec *retryable.Record) error {
	code, kind := mongoerr.Code(0), ""
	switch {
	case rec.Kind == retryable.Delete || rec.Kind == retryable.ModifyDelete:
		if !m.req.Bool("remove") {
			code, kind = codeDeleteRetry, "d"
		}
	case rec.Kind == retryable.Insert || !rec.Upserted.IsMissing():
		if !m.req.Bool("upsert") {
			code, kind = codeUpsertRetry, "i"
		}
	case m.req.Bool("remove"):
		code, kind = codeReplaceRetry, "u"
	}
	if code == 0 {
		return nil
	}
	return mongoerr.New(code, "findAndModify retry request: %s is not compatible with previous write in the transaction of type: %s",
		bsonx.FormatShell(bsonx.Document(m.req.Body)), kind)
}

// retryImage returns the document that the record of a findAndModify keeps, before its projection.
// A retry projects it again.
func (m *modification) retryImage() bsonx.Doc {
	if !m.found {
		return nil
	}
	return m.value
}

// updateRetried returns the result of an update that an earlier attempt has executed.
func updateRetried(rec *retryable.Record) (write.UpdateResult, error) {
	switch {
	case rec.Kind == retryable.Delete || rec.Kind == retryable.ModifyDelete:
		return write.UpdateResult{}, mongoerr.New(codeUpdateRetry,
			"update retry request is not compatible with previous write in the transaction of type: d")
	case !rec.Upserted.IsMissing():
		return write.UpdateResult{UpsertedID: rec.Upserted}, nil
	}
	return write.UpdateResult{Matched: 1, Modified: 1}, nil
}

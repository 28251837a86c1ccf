package crud

import (
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/write"
)

// writeErrors collects the errors of a write command's documents or statements.
type writeErrors struct {
	items []writeError
	told  errorText
}

// writeError is the error of one document or statement of a write command.
type writeError struct {
	Index int
	Err   *mongoerr.Error
}

// add adds the error of the document or statement at position index.
func (e *writeErrors) add(index int, err error) {
	e.items = append(e.items, writeError{index, e.told.shortened(err)})
}

// errorText counts the errors that a reply holds so far, and the bytes of their messages and
// details.
type errorText struct{ errors, text, info int }

// shortened counts err as the next error of the reply and returns it. It removes the message or the
// details if the reply has reached limits.ErrorTextBytes or command.MaxErrorInfo.
func (t *errorText) shortened(err error) *mongoerr.Error {
	e := *command.UserError(err)
	e.Info = command.DetailsOf(&e)
	if t.errors > 0 && t.info+len(e.Info) > command.MaxErrorInfo {
		e.Info = nil
	}
	if t.errors >= limits.ErrorTexts && t.text >= limits.ErrorTextBytes {
		e.Message = ""
	}
	t.errors++
	t.text += len(e.Message)
	t.info += len(e.Info)
	return &e
}

// append appends the field writeErrors to the reply, unless there are no errors.
func (e *writeErrors) append(reply *bsonx.Builder) {
	if len(e.items) == 0 {
		return
	}
	reply.StartArrayField("writeErrors")
	for _, item := range e.items {
		reply.StartDocElem()
		reply.Int32("index", int32(item.Index))
		appendErrorFields(reply, item.Err)
		reply.End()
	}
	reply.End()
}

// appendErrorFields appends the fields of one error: code, errmsg and details.
func appendErrorFields(reply *bsonx.Builder, e *mongoerr.Error) {
	reply.Int32("code", int32(e.Code))
	reply.String("errmsg", e.Message)
	reply.Fields(e.Info)
}

// endsCommand reports whether err ends the whole write command. Any other error concerns one
// document or statement.
func endsCommand(err error) bool {
	var e *mongoerr.Error
	if !errors.As(err, &e) {
		return true
	}
	return write.Interrupts(e.Code) || e.Code == mongoerr.NotImplemented || command.IsTransient(e.Code, false)
}

package mongoerr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxMessage is the longest message, in bytes. A message may repeat a whole command or document.
const MaxMessage = 1 << 20

// Code is a MongoDB error code. codes.go has the codes with names; any other number is a "Location"
// code.
type Code int32

// Name returns the code's name as MongoDB reports it in codeName: "BadValue", or "Location40415"
// for a number without a name.
func (c Code) Name() string {
	if name, ok := names[c]; ok {
		return name
	}
	return "Location" + strconv.Itoa(int(c))
}

// Error is an error that is reported to the client. It does not change after it is returned.
type Error struct {
	Code    Code
	Message string
	Labels  []string
	// Info is an encoded BSON document whose fields are added to the reply or write error (for
	// instance keyPattern and keyValue of a duplicate key, or errInfo of a failed validation). It
	// may be nil.
	Info []byte
}

// New returns an error with a formatted message, which is cut at MaxMessage.
func New(code Code, format string, args ...any) *Error {
	if len(args) == 0 {
		return &Error{Code: code, Message: cut(format)}
	}
	return &Error{Code: code, Message: formatted(format, args)}
}

// formatted is fmt.Sprintf for a message. It does not copy a text that is longer than MaxMessage.
func formatted(format string, args []any) string {
	for i, arg := range args {
		if s, ok := arg.(string); ok && len(s) > MaxMessage {
			args = slices.Clone(args)
			args[i] = cut(s)
		}
	}
	return cut(fmt.Sprintf(format, args...))
}

// cut shortens a text to MaxMessage, at the boundary of a character.
func cut(text string) string {
	if len(text) <= MaxMessage {
		return text
	}
	const end = "..."
	n := MaxMessage - len(end)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + end
}

// Error implements error.
func (e *Error) Error() string { return e.Message + " (" + e.Code.Name() + ")" }

// WithInfo returns a copy of e whose reply carries the fields of the BSON document info.
func (e *Error) WithInfo(info []byte) *Error {
	clone := *e
	clone.Info = info
	return &clone
}

// WithLabel returns a copy of e with one more error label.
func (e *Error) WithLabel(label string) *Error {
	clone := *e
	clone.Labels = append(clone.Labels[:len(clone.Labels):len(clone.Labels)], label)
	return &clone
}

// Prefix returns a copy of e with context put before its message.
func (e *Error) Prefix(format string, args ...any) *Error {
	clone := *e
	clone.Message = cut(formatted(format, args) + e.Message)
	return &clone
}

// Within puts "context :: caused by :: " before the message of the first *Error in err's chain, as
// MongoDB does to tell where an error happened. Other errors are returned unchanged.
func Within(context string, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	return e.Prefix("%s :: caused by :: ", context)
}

// CodeOf returns the code of the first *Error in err's chain, InternalError for any other error,
// and 0 for nil.
func CodeOf(err error) Code {
	if err == nil {
		return 0
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return InternalError
}

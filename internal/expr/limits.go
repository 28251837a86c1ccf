package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	// maxReduceDepth is the largest nesting depth of the accumulated value of $reduce, which
	// otherwise could grow without limit.
	maxReduceDepth = 2 * limits.DocumentDepth
	// DepthInterval is the number of $reduce steps between two checks of the nesting depth of the
	// accumulated value.
	DepthInterval = 32
	// maxTextBytes is the length in bytes from which a string is an error, as in MongoDB.
	maxTextBytes = limits.DocumentBytes
	// maxUnchecked is the amount of work between two checks for an interrupt.
	maxUnchecked = 1 << 18
	// callWork is the amount of work of one operator, without the bytes of its operands.
	callWork = 32
	// largeResult is the size in bytes above which creating a result counts as work.
	largeResult = maxUnchecked / 16
	// StepWork is the amount of work of one step of a loop, without the bytes that it creates.
	StepWork = 64
)

// CheckText returns an error if a string of n bytes is too long.
func CheckText(n int) error {
	if n < maxTextBytes {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge, "RCString too large. Requires size=%d < limit=%d", n, maxTextBytes)
}

// CheckBytes returns an error if an array or document of n bytes, created by the operator op, is
// too large.
func CheckBytes(op string, n int) error {
	if n <= limits.ExpressionBytes {
		return nil
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit, "%s would use too much memory (%d bytes) and cannot spill to disk. Memory limit: %d bytes",
		op, n, limits.ExpressionBytes)
}

// CheckReduced returns an error if the accumulated value of $reduce is nested too deeply.
func CheckReduced(v bsonx.Value) error {
	if !v.Deeper(maxReduceDepth) {
		return nil
	}
	return mongoerr.New(mongoerr.Overflow, "$reduce accumulated value exceeded max allowable BSON depth")
}

// TotalBytes returns the total size of the values in bytes.
func TotalBytes(values []bsonx.Value) int {
	n := 0
	for _, v := range values {
		n += len(v.Data)
	}
	return n
}

// Built adds n bytes to the size of the document that is built from the results of expressions. It
// fails if the document becomes too large. From time to time it also checks the memory limit and
// whether the operation was interrupted.
func (c *Context) Built(n int) error {
	if c.built += n; c.built > limits.ExpressionBytes {
		return CheckBytes("A document", c.built)
	}
	if c.work += n + StepWork; c.work < maxUnchecked {
		return nil
	}
	c.work = 0
	if err := memory.Of(c.Running.Context()).Value(int64(c.built + c.Kept/2)); err != nil {
		return err
	}
	return c.Running.Err()
}

// hold checks that the memory limit has room for two values of n bytes and the memory in use: kept
// operands, growing results and the document around the expression. It fails with
// ExceededMemoryLimit.
func (c *Context) hold(n int, running *interrupt.Running) error {
	return memory.Of(running.Context()).Value(int64(n + (c.Kept+c.built)/2))
}

// Room grows the buffer of b for a value of n bytes. For a large value it checks the memory limit
// first. It fails if the operation was interrupted.
func (c *Context) Room(b *bsonx.Builder, n int, running *interrupt.Running) error {
	if n >= memory.LargeValue {
		if err := c.hold(b.Len()+n, running); err != nil {
			return err
		}
	}
	if b.Len() < interrupt.LargeBuffer {
		return nil
	}
	buf, err := interrupt.Extend(b.Bytes(), n, running)
	if err != nil {
		return err
	}
	b.Move(buf)
	return nil
}

// Grow is called after made bytes were added to the result of op, which now has size bytes. It
// fails if the result is too large or the operation was interrupted.
func (c *Context) Grow(op string, size, made int, running *interrupt.Running) error {
	if err := CheckBytes(op, size); err != nil {
		return err
	}
	// Check the memory limit each time the result has grown by the size of a large value.
	if size/memory.LargeValue > (size-made)/memory.LargeValue {
		if err := c.hold(size, running); err != nil {
			return err
		}
	}
	return c.Worked(StepWork+made, running)
}

// Read adds the work of an operator with operands of n bytes to the work of the Context, and checks
// from time to time whether the operation was interrupted. Without it, an expression in a loop
// could read a whole document at each step, or one step could evaluate thousands of operators, with
// no check for an interrupt. Large operands are also checked against the memory limit, because the
// result is seldom larger than they are.
func (c *Context) Read(n int, running *interrupt.Running) error {
	if c.work += n + callWork; c.work < maxUnchecked {
		return nil
	}
	return c.look(n, running)
}

// look checks whether the operation was interrupted. It is a separate function so that Read can be
// inlined.
//
//go:noinline
func (c *Context) look(n int, running *interrupt.Running) error {
	c.work = 0
	if n >= memory.LargeValue {
		if err := c.hold(n, running); err != nil {
			return err
		}
	}
	return running.Err()
}

// made adds the work of creating the result v, if v is large. It returns err if that is not nil.
func (c *Context) made(v bsonx.Value, err error, running *interrupt.Running) error {
	if err != nil || len(v.Data) <= largeResult {
		return err
	}
	return c.Worked(len(v.Data), running)
}

// Worked adds n to the work of the Context, and checks from time to time whether the operation was
// interrupted. For a large n it also checks the memory limit.
func (c *Context) Worked(n int, running *interrupt.Running) error {
	if c.work += n; c.work < maxUnchecked {
		return nil
	}
	c.work = 0
	if n >= memory.LargeValue {
		if err := c.hold(n, running); err != nil {
			return err
		}
	}
	return running.Context().Err()
}

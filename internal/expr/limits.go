package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

const (
	// maxReduceDepth bounds the nesting of what $reduce gathers: a loop of it could make any.
	maxReduceDepth = 2 * limits.DocumentDepth
	// DepthInterval is after how many steps of $reduce that is looked at.
	DepthInterval = 32
	// maxTextBytes is the length from which MongoDB makes no string.
	maxTextBytes = limits.DocumentBytes
	// maxUnchecked is how much work an expression does between two looks at whether its operation
	// still runs.
	maxUnchecked = 1 << 18
	// callWork is the work of an operator without the bytes of its operands.
	callWork = 32
	// largeResult is from where on the bytes of a result count as work, and in the memory.
	largeResult = maxUnchecked / 16
	// StepWork is the work of one step of a loop without the bytes that it makes.
	StepWork = 64
)

// CheckText refuses a string of n bytes that is too long.
func CheckText(n int) error {
	if n < maxTextBytes {
		return nil
	}
	return mongoerr.New(mongoerr.BSONObjectTooLarge, "RCString too large. Requires size=%d < limit=%d", n, maxTextBytes)
}

// CheckBytes refuses an array or a document of n bytes that is too large.
func CheckBytes(op string, n int) error {
	if n <= limits.ExpressionBytes {
		return nil
	}
	return mongoerr.New(mongoerr.ExceededMemoryLimit, "%s would use too much memory (%d bytes) and cannot spill to disk. Memory limit: %d bytes",
		op, n, limits.ExpressionBytes)
}

// CheckReduced refuses what $reduce has gathered where it is nested too deeply.
func CheckReduced(v bsonx.Value) error {
	if !v.Deeper(maxReduceDepth) {
		return nil
	}
	return mongoerr.New(mongoerr.Overflow, "$reduce accumulated value exceeded max allowable BSON depth")
}

// TotalBytes adds up what values take.
func TotalBytes(values []bsonx.Value) int {
	n := 0
	for _, v := range values {
		n += len(v.Data)
	}
	return n
}

// Built counts n bytes of the document that is being built around expressions. It fails where the
// document becomes too large, and now and then returns the error of an operation that has ended.
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

// hold counts a value of n bytes, twice, and what is kept beside it: operands that were evaluated,
// results that grow, and the document around the expression. It fails with ExceededMemoryLimit.
func (c *Context) hold(n int, running *interrupt.Running) error {
	return memory.Of(running.Context()).Value(int64(n + (c.Kept+c.built)/2))
}

// Room makes room for a value of n bytes in a result, and counts the result before a large value is
// added to it. It returns the error of an operation that has ended.
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

// Grow is called for each part of made bytes that was added to a result, which has size bytes then.
func (c *Context) Grow(op string, size, made int, running *interrupt.Running) error {
	if err := CheckBytes(op, size); err != nil {
		return err
	}
	// A result is counted each time it has grown by a large value.
	if size/memory.LargeValue > (size-made)/memory.LargeValue {
		if err := c.hold(size, running); err != nil {
			return err
		}
	}
	return c.Worked(StepWork+made, running)
}

// Read counts an operator and the n bytes of its operands: an expression within a loop may read a
// whole document for each step, and one step may compute thousands of operators. Now and then it
// returns the error of an operation that has ended. Large operands count in the memory, too: what
// is made of them is seldom larger.
func (c *Context) Read(n int, running *interrupt.Running) error {
	if c.work += n + callWork; c.work < maxUnchecked {
		return nil
	}
	return c.look(n, running)
}

// look returns the error of an operation that has ended. It is apart, so that read is inlined.
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

// made counts a result that is large, unless making it has failed.
func (c *Context) made(v bsonx.Value, err error, running *interrupt.Running) error {
	if err != nil || len(v.Data) <= largeResult {
		return err
	}
	return c.Worked(len(v.Data), running)
}

// Worked counts work, and now and then returns the error of an operation that has ended.
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

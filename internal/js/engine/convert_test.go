package engine

import (
	"fmt"
	"testing"

	"github.com/dop251/goja"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestConversionsHearInterrupts requires that converting large values from and to BSON stops after
// an interrupt.
func TestConversionsHearInterrupts(t *testing.T) {
	t.Parallel()
	fields, elements := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	fields.StartDoc()
	elements.StartDoc()
	for i := range 10 * lookInterval {
		fields.Int32(fmt.Sprintf("f%d", i), 1)
		elements.Int32(fmt.Sprint(i), 1)
	}
	fields.End()
	elements.End()
	for name, v := range map[string]bsonx.Value{
		"object": bsonx.Document(fields.Bytes()),
		"array":  bsonx.Array(elements.Bytes()),
	} {
		e, err := newEngine()
		if err != nil {
			t.Fatal(err)
		}
		var made goja.Value
		convert := func() error { made = e.convert.toJS(v); return nil }
		back := func() error { _, err := e.convert.toBSON(made); return err }
		for _, f := range []func() error{convert, back} {
			if err := e.run(f); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		e.watch.interrupt("the test")
		for direction, f := range map[string]func() error{"from BSON": convert, "to BSON": back} {
			if err := e.run(f); err == nil {
				t.Errorf("%s: %s goes on after an interrupt", name, direction)
			}
		}
	}
}

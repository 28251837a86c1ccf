package engine

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/js"
)

// TestLastValue runs statements for the document {r: 5}. The completion value of some is true,
// others have no value.
func TestLastValue(t *testing.T) {
	t.Parallel()
	this := bsonx.Document(bsonx.NewDoc("r", 5))
	for _, code := range []string{
		"x = this.r; x == 5;", "var x = 5; (this.r) == x", "var x = 5; (x + 1).toString() === '6'",
		"var x = 5; (x, x == 5)", "var x = 5; (x), x == 5",
		"var x = 5; 1, (x).valueOf() == 5", "var x = 5; ((x) == 5)", "var x = 5; ( /* a comment */ x == 5)",
		"{ this.r == 5 }", "if (this.r) { this.r == 5 } else false",
		"if (!this.r) false; else if (this.r == 5) true", "try { this.r == 5 } catch (e) { false }",
		"try { nosuch } catch (e) { true }", "try { true } finally { false }",
		"for (var i = 0; i < 3; i++) i == 2", "do { this.r == 5 } while (false)",
		"while (true) { this.r == 5; break }", "switch (this.r) { case 5: true; break; default: false }",
		"switch (this.r) { case 1: false; default: (true) }", "label: this.r == 5", "with (this) { r == 5 }",
		"this.r == 5; var y;", "this.r == 5; function g() { false }",
		"for (const k in this) k == 'r'", "for (const x of [1, 2]) x == 2", "'use strict'; (function () { return this === undefined })()", "this.r == 5 // a comment",
		"var $value = 4; this.r == 5; $value = true", "let f = x => x == 5; f(this.r)", "const {r} = this; r == 5",
		"`${this.r}` == '5'", "!false", "new Boolean(true).valueOf()",
	} {
		f, err := compileFunc(code, js.Options{})
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if v, err := f.Call(this); err != nil || v.Type != bsonx.TypeBool || !v.Bool() {
			t.Errorf("%s: %v, %v", code, v, err)
		}
	}
	for _, code := range []string{
		"true; if (false) 1", "true; for (; false;) 1", "var x = true",
		"true; switch (1) {}", "function f() { true }",
	} {
		f, err := compileFunc(code, js.Options{})
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if v, err := f.Call(this); err != nil || v.Type == bsonx.TypeBool {
			t.Errorf("%s: %v, %v", code, v, err)
		}
	}
}

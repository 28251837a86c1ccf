package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
)

func parse(text []byte) (*token.FileSet, *ast.File, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	return fset, file, err
}

func format(fset *token.FileSet, file *ast.File) ([]byte, error) {
	var b bytes.Buffer
	conf := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	err := conf.Fprint(&b, fset, file)
	return b.Bytes(), err
}

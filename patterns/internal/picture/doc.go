// Command picture draws the documents of the pattern packages. It reads documents.txt and writes
// ../../documents.svg. The lines of documents.txt have these forms:
//
//	= Group of packages
//	package: what it is for
//		collection (a remark)
//			field -> collection     the field names documents of that collection of the same package
//			field => collection     the field is a copy of them, or made of them
//		|                           the next cards stand beside those before
//
// An arrow leads to a card of the same column or of a neighbouring column, so that it does not
// cross a card. A test checks that the picture shows every pattern package, and that each field
// name occurs in the source of the package.
package main

//go:generate go run . ../../documents.svg

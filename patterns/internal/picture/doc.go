// Command picture draws the documents of the pattern packages: documents.txt becomes
// ../../documents.svg.
//
//	= Group of packages
//	package: what it is for
//		collection (a remark)
//			field -> collection     the field names documents of that collection of the same package
//			field => collection     the field is a copy of them, or made of them
//		|                           the next cards stand beside those before
//
// An arrow leads to a card of the same column or of one beside it, so that none runs through a
// card. The test says that every package of patterns is in the picture, and that each field is a
// name of the package.
package main

//go:generate go run . ../../documents.svg

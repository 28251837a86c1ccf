// Package schematest opens stores for the tests of packages table and schema, and changes them.
package schematest

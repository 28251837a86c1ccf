//go:build long

package main

import "github.com/sheafdb/sheaf/examples/internal/demo"

func Example() {
	demo.Test("blog", run)
	// Output:
	// bob hears that ann has written: It works well.
	// published: Hello, all (It works well.)
	// cms: 0 violations
	//   (deleted)
	//     eve: Indeed.
	//   dan: Well written.
	// comments: 0 violations
	// front page: Hello, all (made so far: 1)
	// front page: Second post, Hello, all (made so far: 2)
	// front page: Third post, Second post (made so far: 3)
	// slicecache.Latest: 0 violations
	// slicecache.Cache: 0 violations
	// the section for readers of de-at: Neues
	// the section for readers of fr: News
	// i18n: 0 violations
}

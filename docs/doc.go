// Package docs holds the documents. What they say about the repository is checked by the tests beside them.
package docs

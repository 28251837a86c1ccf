module github.com/sheafdb/sheaf

go 1.26

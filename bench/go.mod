module github.com/sheafdb/sheaf/bench

go 1.26

replace github.com/sheafdb/sheaf => ../

require github.com/sheafdb/sheaf v0.0.0

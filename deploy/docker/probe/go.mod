module github.com/lockgw/lockgw/deploy/docker/probe

go 1.26.8

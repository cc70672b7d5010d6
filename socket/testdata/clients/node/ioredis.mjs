// ioredis against a lockgw socket: ioredis.mjs PATH
import { readFileSync } from 'node:fs'
import Redis from 'ioredis'
import { check, checkGivenUp } from './check.mjs'

const version = JSON.parse(readFileSync(new URL('node_modules/ioredis/package.json', import.meta.url))).version

async function connect({ protocol, password, commandTimeout }) {
  const options = { path: process.argv[2], password, lazyConnect: true, commandTimeout }
  if (protocol) options.protocol = protocol
  const client = new Redis(options)
  await client.connect()
  return {
    call: (...args) => client.call(...args),
    subscribe: (pattern, listener) => {
      client.on('pmessage', (_, channel, data) => listener(channel, data))
      return client.psubscribe(pattern)
    },
    close: () => client.disconnect(),
  }
}

await check('ioredis', connect, [undefined, 2, 3])
await checkGivenUp('ioredis', connect)
console.log('ok ioredis', version)

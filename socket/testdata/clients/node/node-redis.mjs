// node-redis against a lockgw socket: node-redis.mjs PATH
import { readFileSync } from 'node:fs'
import { createClient } from 'redis'
import { check } from './check.mjs'

const version = JSON.parse(readFileSync(new URL('node_modules/redis/package.json', import.meta.url))).version

async function connect({ protocol, password }) {
  const options = { socket: { path: process.argv[2] }, password }
  if (protocol) options.RESP = protocol
  const client = createClient(options)
  client.on('error', (e) => { throw e })
  await client.connect()
  return {
    call: (...args) => client.sendCommand(args),
    subscribe: (pattern, listener) => client.pSubscribe(pattern, (data, channel) => listener(channel, data)),
    close: () => client.destroy(),
  }
}

await check('node-redis', connect, [undefined, 2, 3])
console.log('ok node-redis', version)

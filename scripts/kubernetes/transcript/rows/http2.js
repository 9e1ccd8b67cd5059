// node http2.js ADDRESS: what the server tells a client that never answers its PINGs.
import { connect } from 'node:net'

const FRAME_HEAD_BYTES = 9
const [DATA_SETTINGS, PING, WINDOW_UPDATE, ACK] = [4, 6, 8, 1]
const socket = connect(8080, process.argv[2])
// The preface, and settings without any entry.
socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
socket.write(Buffer.from([0, 0, 0, DATA_SETTINGS, 0, 0, 0, 0, 0]))
const NAMES = { 4: 'stream window', 5: 'frames up to' }
let rest = Buffer.alloc(0)
socket.on('data', (chunk) => {
  rest = Buffer.concat([rest, chunk])
  while (rest.length >= FRAME_HEAD_BYTES) {
    const end = FRAME_HEAD_BYTES + rest.readUIntBE(0, 3)
    if (rest.length < end) return
    const [type, flags, body] = [rest[3], rest[4], rest.subarray(FRAME_HEAD_BYTES, end)]
    if (type === DATA_SETTINGS && flags !== ACK) settings(body)
    if (type === WINDOW_UPDATE) console.log(`connection window ${65_535 + body.readUInt32BE(0)}`)
    if (type === PING && flags !== ACK) console.log('PING')
    rest = rest.subarray(end)
  }
})
socket.on('close', () => console.log('closed'))
socket.on('error', ({ code }) => console.log(code))

function settings(body) {
  for (let at = 0; at < body.length; at += 6) {
    const name = NAMES[body.readUInt16BE(at)]
    if (name !== undefined) console.log(`${name} ${body.readUInt32BE(at + 2)}`)
  }
  socket.write(Buffer.from([0, 0, 0, DATA_SETTINGS, ACK, 0, 0, 0, 0]))
}

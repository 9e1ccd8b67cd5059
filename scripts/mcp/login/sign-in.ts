/** For clients in other languages: where a browser is sent to; prints what the callback is called with. */
import { signIn } from './browser.ts'

const [start, callback] = process.argv.slice(2)
console.log((await signIn(new URL(start!), callback!)).toString())

/** What the thread of the spend log starts from (spend.ts). */
import { parentPort } from 'node:worker_threads'
import { serveSpendLog } from '#engine/spend/thread.ts'

serveSpendLog(parentPort!)

/** Chromium, as the system has it: nothing is downloaded. */
import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Throws where there is none, with the command that installs it. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.WEIR_CHROMIUM ?? PROGRAMS.find((path) => existsSync(path))
  if (executablePath === undefined)
    throw new Error('there is no Chromium: apt-get install chromium, or set WEIR_CHROMIUM to its program')
  // Its sandbox wants a user other than root, and its shared memory more than containers have.
  return await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
}

import { match, ok } from 'node:assert/strict'
import type { Flow } from './flow.ts'

export const requestsFlows: readonly Flow[] = [
  {
    page: 'requests',
    does: 'sends a request and shows what ended it, then one that is served',
    run: async (page, stage) => {
      await page.getByLabel('URL').fill(`${stage.gateway}/cart/1`)
      await page.getByRole('button', { name: 'Send' }).click()
      const steps = page.getByRole('list', { name: 'Steps' })
      await steps.getByText('ends it (request)').waitFor()
      match((await steps.textContent()) ?? '', /listener.*route.*cors.*authorization/s)
      await page.getByText('Headers and body').click()
      await page.getByLabel('Headers', { exact: true }).fill('x-team: red')
      match(await page.getByLabel('The same as a command').inputValue(), /^curl -i http:.* -H 'x-team: red'$/)
      await page.getByRole('button', { name: 'Send' }).click()
      await steps.getByText('attempt 1').waitFor()
      await page.getByText(/^200, \d+ headers/).click()
      await page.getByText('from the shop').waitFor()
      await page.getByText('Do it again').click()
      match(await page.getByLabel('This request as a command').inputValue(), /^curl -i http:.*\/cart\/1/)
      match(await page.getByLabel('This request as a test').inputValue(), /^test\(.*equal\(response\.status, 200\)/ms)
      await page.getByLabel('URL').fill('http://localhost:1/')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText("port 1 is none of this gateway's").waitFor()
    }
  },
  {
    page: 'requests',
    does: 'follows requests of others by a token',
    run: async (page, stage) => {
      await page.getByRole('button', { name: 'Get a token' }).click()
      const header = await page.getByLabel('Header of requests that are followed').inputValue()
      const [name = '', token = ''] = header.split(': ')
      for (const path of ['/health', '/catalogue/7']) {
        const response = await fetch(stage.gateway + path, { headers: { [name]: token } })
        await response.text()
      }
      await page.getByRole('button', { name: /\/catalogue\/7/ }).click()
      await page.getByRole('list', { name: 'Steps' }).waitFor()
      ok(page.url().includes('request=req_') && !page.url().includes(token))
    }
  }
]

// Runs named checks one after the other and counts those that fail.
'use strict';

let failed = 0;

exports.check = async (name, work) => {
  try {
    await work();
  } catch (error) {
    ++failed;
    const answer = error.response?.text ?? error.response?.body ?? error.body ?? '';
    console.log(`FAILED: ${process.argv[3]}: ${name}: ${error.stack ?? error}`);
    if (answer) console.log(typeof answer === 'string' ? answer : JSON.stringify(answer));
  }
};

exports.finish = (what) => {
  console.log(`${what}: ${failed === 0 ? 'all calls as expected' : `${failed} checks failed`}`);
  process.exit(failed === 0 ? 0 : 1);
};

//! Which failure counts, and what the user is told.

use super::*;
use proptest::prelude::*;
use std::time::Duration;

fn job(ranks: usize) -> Ledger {
    let mut ledger = Ledger::new((0..ranks).map(|_| ("./wave".into(), None)));
    for rank in 0..ranks {
        ledger.started(rank, 100 + i32::try_from(rank).unwrap());
    }
    ledger
}

fn text(ledger: &Ledger) -> String {
    ledger.verdict().0.unwrap_or_default()
}

#[test]
fn a_good_job_says_nothing() {
    let mut job = job(2);
    for rank in 0..2 {
        job.inside(rank, true);
        job.inside(rank, false);
        job.ended(rank, End::Exited(0));
    }
    assert_eq!(job.verdict(), (None, 0));
}

#[test]
fn the_first_failure_counts() {
    let mut job = job(3);
    job.ended(1, End::Killed { signal: libc::SIGKILL, core: false });
    job.ended(0, End::Killed { signal: libc::SIGTERM, core: false });
    job.told(2, 5, "peer lost");
    assert_eq!(job.verdict().1, 137);
    let text = text(&job);
    assert!(
        text.starts_with("rank 1 (./wave, pid 101) was killed by signal 9 (SIGKILL)."),
        "{text}"
    );
    assert!(text.ends_with("The 2 other ranks that still ran were ended."), "{text}");
}

/// All ranks make the same mistake, in the same call.
#[test]
fn ranks_that_died_by_themselves_were_not_ended() {
    let mut job = job(4);
    for rank in [2, 0, 1] {
        job.ended(rank, End::Killed { signal: libc::SIGSEGV, core: false });
    }
    job.ended(3, End::Killed { signal: libc::SIGTERM, core: false });
    let text = text(&job);
    assert!(
        text.contains("memory that it does not have;")
            && text
                .ends_with("lets the compiler see it). The other rank that still ran was ended."),
        "{text}"
    );
}

/// As when a script ends by `sys.exit(3)`, and those of the other ranks by what their collective call raises then.
#[test]
fn of_those_that_fail_after_mpi_the_first_to_leave_counts() {
    let mut job = job(3);
    (0..3).for_each(|rank| job.inside(rank, true));
    for rank in [1, 2, 0] {
        job.inside(rank, false);
    }
    for (rank, code) in [(2, 1), (1, 3), (0, 1)] {
        job.ended(rank, End::Exited(code));
    }
    assert_eq!(job.verdict().1, 3);
    assert!(text(&job).starts_with("rank 1 (./wave, pid 101) ended with exit status 3"));
}

#[test]
fn no_more_others_are_ended_than_there_are() {
    let mut garbles = job(3);
    garbles.garbled(1, "a line without end");
    assert!(text(&garbles).ends_with("The 2 other ranks that still ran were ended."));
    let mut refuses = job(3);
    refuses.refused(None, &Refusal { text: "no room".to_string(), status: 1 });
    assert_eq!(text(&refuses), "no room. The 3 ranks that still ran were ended.");
}

#[test]
fn what_a_rank_tells_becomes_a_sentence() {
    for (told, said) in [
        (
            "ferrite: rank 1 on n7: MPI_Send: no. [MPI_ERR_RANK]",
            "rank 1 on n7: MPI_Send: no. [MPI_ERR_RANK] The",
        ),
        (
            "ferrite: rank 1 on n7: MPI_Abort with code 7",
            "rank 1 on n7: MPI_Abort with code 7. The",
        ),
        ("the mesh is torn!\n", "the mesh is torn! The"),
        ("", "rank 1 (./wave, pid 101) called MPI_Abort with code 7. The"),
    ] {
        let mut job = job(2);
        job.told(1, 7, told);
        assert!(text(&job).starts_with(said), "{}", text(&job));
    }
}

#[test]
fn who_cannot_be_reached_is_named_with_both_hosts() {
    let on = |host: &str| ("./wave".to_owned(), Some(host.to_owned()));
    let mut job = Ledger::new([on("n7"), on("n9")].into_iter());
    (0..2).for_each(|rank| job.started(rank, 100 + rank as i32));
    job.cannot_reach(0, 1, 58, "rank 0 cannot reach rank 1");
    let text = text(&job);
    assert!(
        text.starts_with("rank 0 cannot reach rank 1. Rank 0 runs on n7, rank 1 on n9."),
        "{text}"
    );
    // A rank may say anything.
    let mut job = self::job(2);
    job.cannot_reach(0, u32::MAX, 58, "x");
    assert_eq!(job.verdict().1, 58);
}

#[test]
fn statuses() {
    let status = |act: &dyn Fn(&mut Ledger)| {
        let mut job = job(2);
        act(&mut job);
        job.verdict().1
    };
    assert_eq!(status(&|job| job.ended(0, End::Exited(3))), 3);
    assert_eq!(status(&|job| job.told(0, 7, "")), 7);
    assert_eq!(status(&|job| job.told(0, 256, "")), 1);
    assert_eq!(status(&|job| job.told(0, -1, "")), 255);
    assert_eq!(status(&|job| job.told(0, 0, "")), 0);
    assert_eq!(status(&|job| job.timed_out(Duration::from_secs(3))), 124);
    assert_eq!(status(&|job| job.garbled(0, "x")), 1);
    let segv = End::Killed { signal: libc::SIGSEGV, core: true };
    assert_eq!(status(&|job| job.ended(0, segv)), 139);
}

#[test]
fn leaving_without_finalize() {
    let mut job = job(2);
    job.inside(0, true);
    job.ended(0, End::Exited(0));
    assert!(text(&job).contains("without MPI_Finalize"));
    assert_eq!(job.verdict().1, 1);
}

#[test]
fn a_status_after_finalize_ends_nobody() {
    let mut job = job(2);
    job.inside(0, true);
    job.inside(0, false);
    job.ended(0, End::Exited(4));
    assert!(job.failure().is_none());
    job.ended(1, End::Exited(0));
    assert_eq!(job.verdict().1, 4);
}

#[test]
fn who_stays_in_mpi_after_a_late_failure_is_ended() {
    let failed = |others_leave: bool| {
        let mut job = job(3);
        (0..3).for_each(|rank| job.inside(rank, true));
        job.inside(0, false);
        job.outstayed();
        assert!(!job.has_failed_late() && job.failure().is_none());
        job.ended(0, End::Exited(4));
        assert!(job.has_failed_late());
        (1..3).filter(|_| others_leave).for_each(|rank| job.inside(rank, false));
        job.outstayed();
        (job.failure().is_some(), text(&job), job.verdict().1)
    };
    let (ended, text, status) = failed(false);
    assert!(ended && text.contains("exit status 4 after MPI_Finalize, as a script"), "{text}");
    assert!(text.contains("ranks 1, 2 are still between") && status == 4, "{text}");
    assert!(!failed(true).0);
}

#[test]
fn waiting_for_one_that_cannot_come() {
    let mut job = job(4);
    job.inside(0, true);
    job.inside(3, true);
    job.look_for_deserters(|r| r != 1, |_| true);
    assert!(job.failure().is_none());
    job.ended(1, End::Exited(0));
    job.look_for_deserters(|r| r == 0 || r == 3, |r| r != 1);
    assert!(job.failure().is_none(), "a descendant still holds the connection");
    job.look_for_deserters(|_| false, |r| r == 1);
    let text = text(&job);
    assert!(text.contains("without calling MPI_Init, which ranks 0, 3 called"), "{text}");
}

#[test]
fn leaving_after_finalize_while_others_wait() {
    let mut job = job(2);
    for rank in 0..2 {
        job.inside(rank, true);
    }
    job.inside(0, false);
    job.ended(0, End::Exited(0));
    job.look_for_deserters(|_| false, |r| r == 0);
    assert!(job.failure().is_none());
    job.look_for_deserters(|_| true, |r| r == 0);
    assert!(job.failure().is_none(), "it has entered the barrier too");
    job.look_for_deserters(|r| r == 1, |r| r == 0);
    assert!(text(&job).contains("ended after MPI_Finalize, while rank 1 waits"));
}

#[test]
fn what_the_user_asked_for_is_no_crash() {
    let mut job = job(2);
    job.passed_on(libc::SIGINT);
    job.ended(0, End::Killed { signal: libc::SIGINT, core: false });
    assert!(job.failure().is_some_and(|f| f.asked));
    assert_eq!(text(&job), "the job was ended by SIGINT.");
    assert_eq!(job.verdict().1, 130);
}

#[test]
fn who_ends_by_a_handler_was_asked_to() {
    let ends = |signal: i32, code: i32| {
        let mut job = job(2);
        job.inside(0, true);
        job.passed_on(signal);
        job.ended(0, End::Exited(code));
        job
    };
    for (code, status) in [(0, 143), (3, 3)] {
        let job = ends(libc::SIGTERM, code);
        assert!(job.failure().is_some_and(|failure| failure.asked));
        assert_eq!((text(&job), job.verdict().1), ("the job was ended by SIGTERM.".into(), status));
    }
    // Whoever survives SIGQUIT has said what it is at, and fails of something else.
    let job = ends(libc::SIGQUIT, 3);
    assert!(job.failure().is_some_and(|failure| !failure.asked));
    assert!(text(&job).starts_with("rank 0 ") && text(&job).contains("exit status 3"));
}

#[test]
fn who_has_left_mpi_keeps_nobody_from_ending_in_peace() {
    let mut job = job(2);
    (0..2).for_each(|rank| job.inside(rank, true));
    job.inside(0, false);
    job.passed_on(libc::SIGTERM);
    job.ended(0, End::Exited(3));
    assert!(job.failure().is_none());
    job.inside(1, false);
    job.ended(1, End::Exited(0));
    assert_eq!(job.verdict().1, 3);
}

#[test]
fn a_closed_pipe_is_no_news() {
    let mut job = job(1);
    job.unread();
    job.ended(0, End::Killed { signal: libc::SIGPIPE, core: false });
    assert_eq!(job.verdict(), (None, 141));
}

#[test]
fn a_lost_host_is_named_with_its_ranks() {
    let on = |host: &str| ("./wave".to_string(), Some(host.to_string()));
    let mut job = Ledger::new(["a", "b", "b", "c"].map(on).into_iter());
    (0..4).for_each(|rank| job.started(rank, 100));
    job.ended(1, End::Exited(0));
    job.lost("b", true, "its connection was closed", &[1, 2]);
    assert_eq!(
        text(&job),
        "host b was lost, and rank 2 with it: its connection was closed. The 2 other ranks that \
         still ran were ended."
    );
    assert!(!job.is_over() && job.verdict().1 == 1);
    job.ended(0, End::Exited(1));
    job.ended(3, End::Exited(1));
    assert!(job.is_over());
}

#[test]
fn a_host_that_is_lost_when_its_ranks_have_ended_is_no_failure() {
    let mut job = job(2);
    job.ended(1, End::Exited(0));
    job.lost("b", true, "its connection was closed", &[1]);
    assert!(job.failure().is_none());
    job.ended(0, End::Exited(0));
    assert!(job.is_over() && job.verdict() == (None, 0));
}

#[test]
fn a_host_that_never_came_ends_a_job_that_has_not_begun() {
    let mut job = Ledger::new((0..2).map(|_| ("./wave".to_string(), Some("b".to_string()))));
    assert!(!job.is_over());
    job.lost("b", false, "“ssh” ended with exit status 255", &[1]);
    assert!(job.is_over() && job.verdict().1 == 2);
    let text = text(&job);
    assert!(text.contains("host b cannot be used: “ssh” ended") && text.contains("--prefix"));
}

proptest! {
    #[test]
    fn a_failed_rank_never_means_success(
        ends in proptest::collection::vec((0usize..4, any::<bool>(), 0i32..256, 0i32..65), 0..8),
    ) {
        let mut job = job(4);
        let mut failed = false;
        for (rank, inside, code, signal) in ends {
            if job.ranks[rank].over { continue; }
            if inside { job.inside(rank, true); }
            let end = match signal {
                0 => End::Exited(code),
                signal => End::Killed { signal, core: false },
            };
            failed |= end != End::Exited(0) || inside;
            job.ended(rank, end);
        }
        prop_assert_eq!(job.verdict().1 != 0, failed);
    }
}
